"""A broker to play with: the same that the tests use, until Ctrl-C."""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.kafka.choice import with_prefix
from support.kafka.local_broker import running_broker


def main() -> int:
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    sys.stderr.write("starting a Kafka broker (the first time, its jars are downloaded)\n")
    with running_broker() as broker:
        sys.stdout.write(with_prefix(broker.address, "headgate") + "\n")
        sys.stdout.flush()
        sys.stderr.write("it listens on this machine only, and forgets everything when it ends; Ctrl-C ends it\n")
        while not stopping:
            signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
