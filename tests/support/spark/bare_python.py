"""A machine for Spark as bare as they come: no Java, and a Python whose tasks find Spark and PyArrow, but nothing of Headgate.

Spark's other Python processes, which are the driver's, are left as they are.
"""

import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

from support.processes.isolated import module_path

NEEDED = ("pyspark", "py4j", "pyarrow", "numpy", "pandas", "dateutil", "six.py", "pytz", "tzdata")
"""PySpark and PyArrow with what their distributions ask for; `pyarrow.libs` and the like belong to them."""

TOOLS = ("bash", "sh", "dirname", "env", "ps", "cat", "uname", "chmod", "ls", "readlink", "id")
"""What Spark's launcher and its file systems call; a PATH of these has no Java."""

_PROGRAM = """#!/bin/sh
for last do :; done
if [ "$last" = pyspark.worker ]; then
  PYTHONPATH={libraries}; export PYTHONPATH
  exec {python} -S "$@"
fi
exec {python} "$@"
"""


def bare_python(folder: Path) -> Path:
    """The program, in that folder."""
    libraries = folder / "libraries"
    libraries.mkdir()
    found = Path(sysconfig.get_path("platlib"))
    for name in NEEDED:
        for place in (found / name, found / f"{name}.libs"):
            if place.exists():
                (libraries / place.name).symlink_to(place)
    program = folder / "python"
    program.write_text(
        _PROGRAM.format(libraries=shlex.quote(str(libraries)), python=shlex.quote(sys.executable)), encoding="utf-8"
    )
    program.chmod(0o755)
    return program


def bare_environment(folder: Path, python_files: Path) -> dict[str, str]:
    """For a driver that finds everything, and executors that find `python_files` alone."""
    path = folder / "path"
    path.mkdir()
    for tool in TOOLS:
        real = shutil.which(tool)
        assert real is not None, f"{tool} is part of every system"
        (path / tool).symlink_to(real)
    kept = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "SPARK_HOME")}
    return kept | {
        "PATH": str(path),
        "PYSPARK_PYTHON": str(bare_python(folder)),
        "PYSPARK_SUBMIT_ARGS": f"--py-files {python_files} pyspark-shell",
        "PYTHONPATH": module_path(),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
