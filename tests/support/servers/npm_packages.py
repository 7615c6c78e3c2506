"""Packages of npm as they were published: fetched by its own client, and checked by their digest. No script of them runs."""

import base64
import hashlib
import os
from pathlib import Path

from support.servers.azurite import node_and_npm
from support.servers.tool_cache import ToolFailure, run


def published_package(name: str, version: str, sha512: str, folder: Path, cache: Path | None = None) -> bytes:
    """The archive of a package, fetched into `folder` and taken out of it. `ToolFailure` where its digest, in base64, differs."""
    node, npm = node_and_npm(cache)
    run(*npm, "pack", f"{name}@{version}", "--silent", cwd=folder, extra_environment={"PATH": _path_with(node)})
    [archive] = folder.glob("*.tgz")
    packed = archive.read_bytes()
    if base64.b64encode(hashlib.sha512(packed).digest()).decode() != sha512:
        raise ToolFailure(f"{name} {version} is not the package that was published: its SHA-512 differs")
    archive.unlink()
    return packed


def _path_with(node: Path) -> str:
    return os.pathsep.join([str(node.parent), os.environ.get("PATH", "")])
