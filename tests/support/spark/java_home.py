"""A Java home for Spark around any Java that is new enough."""

import shlex
from pathlib import Path

from support.kafka.java import provide_java

_OFTEN_MISSING = "--add-modules=jdk.incubator.vector"
"""Spark's launcher asks for this module, which slim Javas lack; Spark itself does without."""


def make_java_home(folder: Path) -> Path:
    """A folder whose `bin/java` starts the real one."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = "{_OFTEN_MISSING}" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(provide_java()))} "$@"\n'
    )
    program.chmod(0o755)
    return folder
