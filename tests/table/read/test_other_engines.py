"""The page about other engines: its examples run, and print what the page says they print."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.servers.versitygw import S3Server

PAGE = Path(__file__).parents[3] / "docs/reading-with-other-engines.md"
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Section:
    """One section's examples, as one program, and what it prints."""

    program: str
    output: str


def sections() -> dict[str, Section]:
    """By title; the examples before the first title are under ""."""
    parts = ["", *_SECTION.split(PAGE.read_text(encoding="utf-8"))]
    found = {}
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        blocks = [(match[1], match[2]) for match in _BLOCK.finditer(text)]
        found[title] = Section(
            "".join(code for kind, code in blocks if kind == "python"),
            "".join(code for kind, code in blocks if kind == "text"),
        )
    return found


def printed(program: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", "-"],
        input=f"import sys\nsys.path[:] = {sys.path!r}\n" + program,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


LOCAL = [title for title, section in sections().items() if section.program and title not in ("", "On S3")]


def test_the_page_has_examples_of_every_engine() -> None:
    assert LOCAL == ["DuckDB", "Polars", "DataFusion", "Partition values that are not in the paths"]


@pytest.mark.parametrize("title", LOCAL)
def test_the_examples_of_a_section_print_what_the_page_says(title: str, tmp_path: Path) -> None:
    found = sections()
    assert printed(found[""].program + found[title].program, tmp_path) == found[title].output


def test_the_examples_on_s3_print_what_the_page_says(versitygw: S3Server, s3_bucket: str, tmp_path: Path) -> None:
    found = sections()
    preparing = found[""].program.replace(
        'Table.create("lake/events",',
        'Table.create("s3://lake/events", storage={"s3.endpoint": "https://s3.example:9000", '
        '"s3.access-key": "ACCESS", "s3.secret-key": "SECRET"}, schema=',
    )
    program = preparing + found["On S3"].program
    for placeholder, real in {
        "https://s3.example:9000": versitygw.endpoint,
        "ACCESS": versitygw.access_key,
        "SECRET": versitygw.secret_key,
        "s3://lake/": f"s3://{s3_bucket}/",
    }.items():
        assert placeholder in program
        program = program.replace(placeholder, real)
    assert printed(program, tmp_path) == found["On S3"].output
