"""What the site needs beyond its pages. mkdocs calls these functions by their names (`hooks` in mkdocs.yml)."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.docs.mermaid_script import SCRIPT, provide_mermaid_script


def on_post_build(config: Mapping[str, Any]) -> None:
    """Diagrams are drawn by a script that lies beside the pages, so that the site needs no other server."""
    place = Path(config["site_dir"]) / "javascripts"
    place.mkdir(exist_ok=True)
    shutil.copyfile(provide_mermaid_script(), place / SCRIPT)
