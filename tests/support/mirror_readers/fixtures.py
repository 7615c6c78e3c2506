"""A plugin of pytest: the engines that read mirrors, and those of another virtual environment where the command line names one."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.mirror_readers.reader import MirrorReader

APART = ("chdb", "delta-spark")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--mirror-engines",
        type=Path,
        dest="mirror_engines",
        metavar="PYTHON",
        help="read mirrors by chdb and delta-spark, too, which are installed beside this Python (make engines)",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "mirror_reader" in metafunc.fixturenames:
        from support.mirror_readers.here import READERS  # takes a second

        apart = APART if metafunc.config.getoption("mirror_engines") else ()
        metafunc.parametrize("mirror_reader", [*READERS, *apart], indirect=True)


@pytest.fixture(scope="session")
def mirror_readers(pytestconfig: pytest.Config) -> Iterator[Mapping[str, MirrorReader]]:
    from support.mirror_readers.apart import readers_apart
    from support.mirror_readers.here import READERS

    python = pytestconfig.getoption("mirror_engines")
    if python is None:
        yield READERS
        return
    with readers_apart(python) as apart:
        assert tuple(apart) == APART
        yield {**READERS, **apart}


@pytest.fixture
def mirror_reader(request: pytest.FixtureRequest, mirror_readers: Mapping[str, MirrorReader]) -> MirrorReader:
    """Each of them in turn."""
    return mirror_readers[request.param]
