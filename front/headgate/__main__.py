"""Where a process of the `headgate` command begins; `python -m headgate` is the same."""

import sys


def main() -> int:
    try:
        # Takes most of a short command's time, so somebody may well interrupt it.
        from headgate.cli.main import main as run
    except KeyboardInterrupt:
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
