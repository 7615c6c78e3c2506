"""A short run of the fuzzer of messages; `make fuzz KIND=messages` runs a long one."""

from support.drawn.message_fuzz import run


def test_two_thousand_mutated_messages_are_read_or_refused_cleanly() -> None:
    tally = run(2_000, seed=7)
    assert tally.problems == []
    assert set(tally.outcomes) >= {
        "proposal",
        "set aside: unreadable",
        "event",
        "event refused",
        "claimed operation",
        "claimed operation refused",
        "dead letter",
        "dead letter refused",
    }
