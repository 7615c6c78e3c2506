"""Rule 7: the pointer moves forward only, by compare-and-swap.

Without it: a slow writer of an old state moves the pointer back, below what cleaning has removed since.
"""

from collections.abc import Callable

from headgate_schemas.messages.operations import Append
from headgate_table.errors import StoreError
from support.simulation.scenario import TABLE, Scenario


def test_a_slow_writer_of_a_state_doesnt_move_the_pointer_back() -> None:
    with Scenario() as play:
        for _ in range(2):
            play.direct(Append((play.file(),)), interval=2)
        play.direct(Append((play.file(),)))
        slow, done = play.begun("slow", lambda process: play.table(process, TABLE).checkpoint())
        play.halt(slow, "store.swap", "_last_checkpoint")
        for _ in range(2):
            play.direct(Append((play.file(),)), interval=1)
        assert play.model.pointer == 5
        slow.thaw()
        play.until(lambda: bool(done), "the slow writer's end")
        assert done == [3]
        assert play.model.pointer == 5


def test_the_pointer_is_moved_again_after_a_crash_between_state_and_pointer() -> None:
    with Scenario() as play:
        for _ in range(2):
            play.direct(Append((play.file(),)))
        slow, _ = play.begun("slow", lambda process: play.table(process, TABLE).checkpoint())
        play.halt(slow, "store.create", "_last_checkpoint")
        slow.kill()
        assert play.model.pointer == -1
        play.by("tool", lambda process: play.table(process, TABLE).checkpoint())
        assert play.model.pointer == 2


def test_a_state_that_lands_after_the_log_was_truncated_beyond_it_is_taken_back() -> None:
    with Scenario() as play:
        for _ in range(3):
            play.direct(Append((play.file(),)), interval=100)
        play.run_for(1)
        slow, done = play.begun("slow", lambda process: _outcome(lambda: play.table(process, TABLE).checkpoint()))
        play.halt(slow, "store.create", "state")
        for _ in range(4):
            play.direct(Append((play.file(),)), interval=1)
        play.by("cleaner", lambda process: play.table(process, TABLE).truncate_history())
        slow.thaw()
        play.until(lambda: bool(done), "the slow writer's end")
        assert "taken back" in str(done)
        left = [info.key for info in play.model.store.list("_transaction_log/state-v")]
        assert not any("state-v00000000000000000003" in key for key in left)


def _outcome(work: Callable[[], int]) -> int | str:
    try:
        return work()
    except StoreError as error:
        return str(error)
