"""Where a table's metadata comes from when the newest state has none."""

from pathlib import Path

from support.writers.cases.case import Cases
from support.writers.cases.expected import Expected
from support.writers.handmade import HandMade, add, file, metadata, protocol

CASES = Cases("5.4")

COLUMNS = ("date",)
A = file("a", 1_000, date="2024-01-01")
B = file("b", 2_000, date="2024-01-02")


def _hand(root: Path) -> HandMade:
    return HandMade(root, COLUMNS)


@CASES.readable("metadata: the state has none, version 0 does")
def _(root: Path) -> Expected:
    hand = _hand(root)
    hand.start()
    hand.state(3, [hand.manifest([A])])
    hand.pointer(3)
    return hand.expected(3, [A])


@CASES.readable("metadata: the state's own goes before version 0")
def _(root: Path) -> Expected:
    hand = _hand(root)
    hand.start()
    hand.state(3, [hand.manifest([A])], meta=metadata("in-state", COLUMNS))
    hand.pointer(3)
    return hand.expected(3, [A], table_id="in-state")


@CASES.readable("metadata: a later version goes before the state's own")
def _(root: Path) -> Expected:
    hand = _hand(root)
    hand.start()
    hand.state(3, [hand.manifest([A])], meta=metadata("in-state", COLUMNS))
    hand.pointer(3)
    hand.version(4, metadata("in-version-4", COLUMNS), add(B))
    return hand.expected(4, [A, B], table_id="in-version-4")


@CASES.readable("metadata: the state has none, a later version does")
def _(root: Path) -> Expected:
    hand = _hand(root)
    hand.start()
    hand.state(3, [hand.manifest([A])])
    hand.pointer(3)
    hand.version(4, metadata("in-version-4", COLUMNS))
    hand.version(5, add(B))
    return hand.expected(5, [A, B], table_id="in-version-4")


@CASES.readable("metadata: of the versions below the state the newest counts")
def _(root: Path) -> Expected:
    hand = _hand(root)
    hand.start()
    hand.version(1, add(A))
    hand.version(2, metadata("in-version-2", COLUMNS))
    hand.version(3, add(B))
    hand.state(3, [hand.manifest([A, B])])
    hand.pointer(3)
    return hand.expected(3, [A, B], table_id="in-version-2")


@CASES.readable("metadata: without versions an older state's counts")
def _(root: Path) -> Expected:
    hand = _hand(root)
    hand.state(1, [hand.manifest([A])], meta=metadata("in-state-1", COLUMNS))
    hand.state(2, [hand.manifest([A, B])], meta=metadata("in-state-2", COLUMNS))
    hand.state(3, [hand.manifest([A, B])])
    hand.pointer(3)
    return hand.expected(3, [A, B], table_id="in-state-2")


@CASES.readable("metadata: a bare object in the state, as early jars wrote it", "2.2")
def _(root: Path) -> Expected:
    hand = _hand(root)
    hand.version(0, protocol())
    hand.state(1, [hand.manifest([A])], meta=metadata("bare", COLUMNS)["metaData"])
    hand.pointer(1)
    return hand.expected(1, [A], table_id="bare")


@CASES.readable("metadata: an unknown field inside the state's", "2.2")
def _(root: Path) -> Expected:
    hand = _hand(root)
    hand.start()
    hand.state(1, [hand.manifest([A])], meta=metadata("in-state", COLUMNS, future={"x": [1]}))
    hand.pointer(1)
    return hand.expected(1, [A], table_id="in-state")


@CASES.readable("metadata: the state's without createdTime, with null name", "2.2")
def _(root: Path) -> Expected:
    hand = _hand(root)
    body = metadata("in-state", COLUMNS, name=None, description=None)
    del body["metaData"]["createdTime"]
    hand.state(1, [hand.manifest([A])], meta=body)
    hand.pointer(1)
    return hand.expected(1, [A], table_id="in-state")
