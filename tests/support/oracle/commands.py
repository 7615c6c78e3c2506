"""The `headgate` command inside of this process."""

import contextlib
import io
from dataclasses import dataclass

from support.oracle.world import be_quiet


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str


def run(*arguments: str) -> Ended:
    from headgate.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    be_quiet()  # the command has set up logs of its own
    return Ended(code, out.getvalue(), err.getvalue())
