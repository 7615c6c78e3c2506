"""The entry point of the `headgate` command; `python -m headgate` is the same."""

import sys


def main() -> int:
    match sys.argv[1:]:
        case ["health", url] if not url.startswith("-"):
            # A container's health check runs every few seconds, and the imports below take much longer than the
            # check.
            from headgate.health.asking_health import ask_health

            return ask_health(url)
    try:
        # These imports take most of a short command's time, so a user may well interrupt them.
        from headgate.cli.main import main as run
        from headgate.process.process_exit import leave
    except KeyboardInterrupt:
        return 130
    return leave(run())


if __name__ == "__main__":
    sys.exit(main())
