"""The tally of mutated input: what it takes for too slow."""

import threading
import time

from support.drawn.fuzz_tally import Tally

ENOUGH_BYTES = 1 << 30


def test_time_that_the_processor_spends_on_others_does_not_count() -> None:
    """Break: the tally asks a wall's clock."""
    tally = Tally(ENOUGH_BYTES, max_seconds=0.5)
    tally.attempt(b"", lambda: str(threading.Event().wait(0.8)))
    assert (tally.problems, tally.outcomes.total()) == ([], 1)


def test_input_that_takes_the_processor_too_long_is_a_problem() -> None:
    def spins() -> str:
        end_s = time.process_time() + 0.2
        while time.process_time() < end_s:
            pass
        return "spun"

    tally = Tally(ENOUGH_BYTES, max_seconds=0.1)
    tally.attempt(b"\x07", spins)
    assert [problem.endswith("s of the processor from 07") for problem in tally.problems] == [True]
