"""`make docs` builds the site, fails where something leads nowhere, and needs no other server to show a page."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headgate
import headgate.spark
from support.docs.mermaid_script import SCRIPT
from support.docs.page_blocks import DOCS, ROOT, blocks_of
from support.docs.site_builder import provide_site_builder

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

LIMIT_S = 300
SITE = "http://docs.test/"
DRAWN = sorted(page for page in DOCS.rglob("*.md") if any(block.kind == "mermaid" for block in blocks_of(page)))


def tree_in(folder: Path) -> Path:
    """What the site is made of: copies of what the tests change, links to the rest."""
    for name in ("Makefile", "mkdocs.yml"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(DOCS, folder / "docs")
    for name in ("schemas", "table", "bus", "producer", "committer", "worker", "front", "tests"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return tree_in(tmp_path)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tree_in(tmp_path_factory.mktemp("tree"))
    done = make_docs(tree)
    assert done.returncode == 0, done.stderr
    return tree / "site"


def make_docs(tree: Path) -> "subprocess.CompletedProcess[str]":
    """The target's own recipe. What it installs is taken for done, since it would go into the environment of the tests."""
    surroundings = ["env", "-u", "MAKEFLAGS", f"PYTHONPATH={provide_site_builder()}"]
    return subprocess.run(
        [*surroundings, "make", "--old-file", ".venv/.docs", "docs", f"PY={sys.executable}"],
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def test_the_site_is_built_with_every_page(site: Path) -> None:
    pages = {path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")}
    assert [str(page) for page in pages if not (site / page).is_file()] == []


def test_every_public_name_is_on_the_page_of_the_api_once(site: Path) -> None:
    """Break: a name is exported, and nobody who reads the reference learns of it."""
    shown = re.findall(r"^::: ([\w.]+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    public = [f"headgate.{name}" for name in headgate.__all__ if not name.startswith("__")]
    public += [f"headgate.spark.{name}" for name in headgate.spark.__all__]
    assert sorted(shown) == sorted(public)
    page = (site / "api.html").read_text(encoding="utf-8")
    assert [name for name in public if f'id="{name}"' not in page] == []


@pytest.mark.parametrize("page", DRAWN, ids=lambda page: page.stem)
def test_diagrams_are_drawn_and_nobody_else_is_asked(page: Path, site: Path, browser: "Browser") -> None:
    """Break: a reader's browser fetches the script from another server, or shows the diagram's source instead of it."""
    others: list[str] = []

    def answer(route: "Route") -> None:
        path = site / route.request.url.removeprefix(SITE)
        if not route.request.url.startswith(SITE):
            others.append(route.request.url)
            route.abort()
        elif path.is_file():
            route.fulfill(path=path)
        else:
            route.fulfill(status=404)

    shown = browser.new_page()
    try:
        shown.route("**/*", answer)
        shown.goto(SITE + page.relative_to(DOCS).with_suffix(".html").as_posix())
        diagrams = shown.locator("div.mermaid")
        wanted = sum(block.kind == "mermaid" for block in blocks_of(page))
        shown.wait_for_function(f"document.querySelectorAll('div.mermaid').length == {wanted}", timeout=LIMIT_S * 1000)
        boxes = [each.bounding_box() for each in diagrams.all()]
        assert [box for box in boxes if box is None or min(box["width"], box["height"]) < 100] == []
        assert shown.evaluate("mermaid.mermaidAPI !== undefined")
    finally:
        shown.close()
    assert others == []
    assert (site / "javascripts" / SCRIPT).is_file()


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
