"""The broker's jars: those that the lock beside this module names."""

from pathlib import Path

from support.servers import maven_jars

VERSION = "4.3.1"
LOCK = Path(__file__).with_name(f"kafka-{VERSION}.lock")


def provide_jars(cache: Path | None = None) -> Path:
    """A folder of the jars."""
    return maven_jars.provide_jars("kafka", VERSION, LOCK, cache)
