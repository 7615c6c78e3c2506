"""Rule 9: the copy of the memory in the configuration is a floor. What foreign writers bring back is old.

Without it: a foreign state with an old configuration makes the table forget seqs, and a job's rows are doubled.
"""

from headgate_schemas.messages.operations import Alter, Duplicate, Rejected, Writer
from support.simulation.scenario import TABLE, Scenario
from support.simulation.troubles import foreign
from support.simulation.world.scheduler import Process


def _foreign_commit(play: Scenario, age: int) -> None:
    """A foreign commit with a state that carries the configuration of an earlier state."""

    def run(process: Process) -> None:
        store = play.store(process, TABLE)
        now_ms = play.scheduler.now_ms
        number = foreign.commit(store, [foreign.add(play.file().path, 10, "eu", now_ms)], [], now_ms)
        kept = foreign.newest_state_metadata(store, age)
        assert number is not None
        assert kept is not None
        foreign.write_state(store, number, play.model.versions[number].live, kept, "f" * 16, now_ms)

    play.by("foreign", run)


def test_a_foreign_state_with_an_old_configuration_doesnt_bring_back_old_seqs() -> None:
    with Scenario() as play:
        first = play.committer("first", interval=2)
        for seq in range(1, 7):
            play.decided(play.propose(writer=Writer("job", seq)))
        play.run_for(1)
        assert first.process is not None
        first.process.kill()
        play.lose_place(first)
        _foreign_commit(play, age=2)
        play.committer("second", interval=2)
        again = play.decided(play.propose(writer=Writer("job", 6)))
        assert play.told(again) == [Duplicate(6, again)]


def test_where_only_the_configuration_is_left_the_seqs_are_known_by_it() -> None:
    with Scenario() as play:
        first = play.committer("first", interval=2)
        for seq in range(1, 5):
            play.decided(play.propose(writer=Writer("job", seq)))
        play.run_for(1)
        assert first.process is not None
        first.process.kill()
        play.lose_place(first)
        _foreign_commit(play, age=0)
        play.cleaned_by_another_program()
        play.committer("second", interval=2)
        again = play.decided(play.propose(writer=Writer("job", 4)))
        assert play.told(again) == [Duplicate(4, again)]


def test_the_committers_keys_cant_be_altered() -> None:
    with Scenario() as play:
        play.committer("committer", interval=1)
        play.committed()
        alter = play.decided(play.propose(Alter(1, {"headgate.coordinator": None})))
        assert isinstance(play.told(alter)[0], Rejected)


def test_cleaning_keeps_the_versions_that_alone_remember_what_was_decided() -> None:
    with Scenario() as play:
        first = play.committer("first")
        seq = play.decided(play.propose(writer=Writer("job", 1)))
        plain = play.decided(play.propose())
        assert first.process is not None
        first.process.kill()
        play.lose_place(first)
        # The only state is another program's, which knows nothing of seqs and ids.
        _foreign_commit_before_any_state(play)
        play.by("cleaner", lambda process: play.table(process, TABLE).truncate_history())
        play.committer("second")
        again = play.decided(play.propose(writer=Writer("job", 1)))
        play.repeat(plain)
        play.decided(plain)
        assert play.told(again) == [Duplicate(play.version_of(seq), again)]
        assert play.told(plain)[-1] == Duplicate(play.version_of(plain), plain)


def _foreign_commit_before_any_state(play: Scenario) -> None:
    def run(process: Process) -> None:
        store, now_ms = play.store(process, TABLE), play.scheduler.now_ms
        number = foreign.commit(store, [foreign.add(play.file().path, 10, "eu", now_ms)], [], now_ms)
        assert number is not None
        version = play.model.versions[number]
        foreign.write_state(store, number, version.live, version.metadata, "f" * 16, now_ms)

    play.by("foreign", run)
