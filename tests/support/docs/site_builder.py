"""mkdocs and its theme, as pinned: what the tests' own environment lacks of them, in the user's cache."""

import hashlib
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from support.docs.page_blocks import ROOT
from support.servers.tool_cache import install_pinned_packages, provide

_PINNED = ROOT / "requirements/docs.txt"


def provide_site_builder() -> Path:
    """A folder to be put on the path of a Python that has what tests need."""
    wanted = "".join(_not_here(_PINNED.read_text()))
    version = hashlib.sha256(wanted.encode()).hexdigest()[:16]
    return provide(
        "mkdocs", version, "mkdocs/__main__.py", lambda folder: install_pinned_packages(wanted, folder)
    ).parents[1]


def _not_here(pinned: str) -> Iterator[str]:
    """Each with its version, its marker and its digests."""
    for found in re.finditer(r"^([\w.-]+)==.*?[^\\]$\n", pinned, re.MULTILINE | re.DOTALL):
        try:
            distribution(found[1])
        except PackageNotFoundError:
            yield found[0]
