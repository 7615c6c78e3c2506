"""Where a process of the `headgate` command begins and ends; `python -m headgate` is the same."""

import sys


def main() -> int:
    try:
        # Takes most of a short command's time, so somebody may well interrupt it.
        from headgate.cli.main import main as run
        from headgate.leaving import leave
    except KeyboardInterrupt:
        return 130
    return leave(run())


if __name__ == "__main__":
    sys.exit(main())
