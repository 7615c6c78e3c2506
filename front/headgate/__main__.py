"""Where a process of the `headgate` command begins and ends; `python -m headgate` is the same."""

import sys


def main() -> int:
    match sys.argv[1:]:
        case ["health", url] if not url.startswith("-"):
            # A container is asked every few seconds, and everything below takes much longer to import than to ask.
            from headgate.health.asking_health import ask_health

            return ask_health(url)
    try:
        # Takes most of a short command's time, so somebody may well interrupt it.
        from headgate.cli.main import main as run
        from headgate.process.process_exit import leave
    except KeyboardInterrupt:
        return 130
    return leave(run())


if __name__ == "__main__":
    sys.exit(main())
