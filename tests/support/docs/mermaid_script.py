"""The script that draws the diagrams of the site, from the npm package as it was published, in the user's cache.

The theme would have every reader's browser fetch it from somebody else's server.
"""

import io
import tarfile
from pathlib import Path

from support.servers.npm_packages import published_package
from support.servers.tool_cache import ToolFailure, provide

PACKAGE = "mermaid"
VERSION = "11.17.2"
SHA512 = "V6K3C8EBdEsPFZXSKMJe6ppQOENxuHARr9GvHX4hh47lAbhMRD9qf4oEK7LoaRQxULMa80/qt5gHO73aCleBBg=="
"""Of the package, in base64, as its registry says it."""
SCRIPT = "mermaid.min.js"


def provide_mermaid_script(cache: Path | None = None) -> Path:
    return provide(PACKAGE, VERSION, SCRIPT, lambda folder: _install(folder, cache), cache=cache)


def _install(folder: Path, cache: Path | None) -> None:
    packed = published_package(PACKAGE, VERSION, SHA512, folder, cache)
    with tarfile.open(fileobj=io.BytesIO(packed)) as package:
        script = package.extractfile(f"package/dist/{SCRIPT}")
        if script is None:
            raise ToolFailure(f"{PACKAGE} {VERSION} has no {SCRIPT}")
        (folder / SCRIPT).write_bytes(script.read())
