"""`python -m support.torture.stage.skewed ARGUMENTS`: the `headgate` command on a machine whose clock is off by TORTURE_SKEW_S."""

import faulthandler
import signal
import sys

from headgate import __main__ as headgate
from headgate.cli.terminal.session import Session
from support.torture.stage.clocks import skewed_ambient
from support.torture.stage.untrimmed import trim_nothing


def main() -> int:
    # A command gets its clock from there and from nowhere else; nothing that is shipped knows of this.
    Session.ambient = property(lambda session: skewed_ambient())  # type: ignore[assignment]
    trim_nothing()
    faulthandler.register(signal.SIGUSR1)  # whoever finds it standing still asks where
    return headgate.main()


if __name__ == "__main__":
    sys.exit(main())
