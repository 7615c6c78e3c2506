"""`make docs` builds the site, and fails where something leads nowhere."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.docs.page_blocks import ROOT
from support.docs.site_builder import provide_site_builder

LIMIT_S = 300


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the site is made of, and the program that makes it on the path."""
    monkeypatch.setenv("PYTHONPATH", str(provide_site_builder()))
    monkeypatch.delenv("MAKEFLAGS", raising=False)
    for name in ("Makefile", "mkdocs.yml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    return tmp_path


def make_docs(tree: Path) -> "subprocess.CompletedProcess[str]":
    """The target's own recipe. What it installs is taken for done, since it would go into the environment of the tests."""
    return subprocess.run(
        ["make", "--old-file", ".venv/.docs", "docs", f"PY={sys.executable}"],
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def test_the_site_is_built_with_every_page(tree: Path) -> None:
    done = make_docs(tree)
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(tree / "docs").with_suffix(".html") for path in (tree / "docs").rglob("*.md")}
    assert [str(page) for page in pages if not (tree / "site" / page).is_file()] == []


def into(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(tree: Path) -> None:
        text = (tree / name).read_text(encoding="utf-8")
        assert old in text
        (tree / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (into("docs/index.md", "](workers.md)", "](nowhere.md)"), "'nowhere.md'"),
        (into("docs/index.md", "](workers.md)", "](workers.md#nowhere)"), "'#nowhere'"),
        (into("mkdocs.yml", "workers.md", "nowhere.md"), "'nowhere.md'"),
        (into("mkdocs.yml", "      - Workers: workers.md\n", ""), "workers.md"),
    ],
    ids=["a link to no page", "a link to no heading", "a page that is not there", "a page that is left out"],
)
def test_what_leads_nowhere_fails(change: Callable[[Path], None], said: str, tree: Path) -> None:
    change(tree)
    done = make_docs(tree)
    assert done.returncode != 0
    assert said in done.stderr
