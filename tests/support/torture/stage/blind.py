"""`python -m support.torture.stage.blind ARGUMENTS`: the `headgate` command of a release that doesn't look for other groups of committers."""

import sys

from headgate_bus.kafka.group.seat import KafkaSeat
from headgate_bus.sqlite.seat import SqliteSeat
from support.torture.stage.skewed import main

if __name__ == "__main__":
    for seat in (KafkaSeat, SqliteSeat):
        seat.others = lambda self: ()  # type: ignore[method-assign]  # so that two are at work by mistake
    sys.exit(main())
