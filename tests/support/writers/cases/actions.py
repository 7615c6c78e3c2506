"""What may stand in an action line, and what order means inside and across version files."""

from pathlib import Path
from typing import Any

from support.writers.cases.case import Cases
from support.writers.cases.expected import Expected, Fatal, JsonText, line, naming
from support.writers.handmade import HandMade, add, file, metadata, protocol, remove
from support.writers.invented import START_MS
from support.writers.log_folder import compact_json, lines, version_name

CASES = Cases("3")

A, B, C = file("a", 1_000), file("b", 2_000), file("c", 3_000)
PATH = "a.parquet"
ONE = r"0{19}1\.json"


def _table(root: Path, *actions: Any) -> HandMade:
    hand = HandMade(root)
    hand.start()
    hand.version(1, *actions)
    return hand


def _accepts(name: str, action: Any, **values: Any) -> None:
    """A readable case: version 1 adds A as `action` says, and the entry has these values."""

    @CASES.readable(f"add: {name}")
    def _(root: Path) -> Expected:
        return _table(root, action, add(B)).expected(1, [A, B], entries={PATH: values})


def _refuses(name: str, action: Any, *fragments: str) -> None:
    """A fatal case: the second line of version 1 is `action`."""

    @CASES.fatal(f"{name} is refused, naming file, line and field")
    def _(root: Path) -> Fatal:
        _table(root, add(B), action)
        return Fatal(naming(ONE, line(2), *fragments))


# --- tolerated ----------------------------------------------------------------------------------------------------

_accepts("null partitionValues are none", add(A, partitionValues=None), partition_values={})
_accepts("missing partitionValues are none", add(A, "partitionValues"), partition_values={})
_accepts(
    "a null partition value is the null partition",
    add(A, partitionValues={"date": None}),
    partition_values={"date": None},
)
_accepts(
    "a whole number as partition value is its text", add(A, partitionValues={"day": 7}), partition_values={"day": "7"}
)
_accepts("a fraction as partition value is its text", add(A, partitionValues={"x": 1.5}), partition_values={"x": "1.5"})
_accepts("missing dataChange is true", add(A, "dataChange"), data_change=True)
_accepts("null dataChange is true", add(A, dataChange=None), data_change=True)
_accepts("a text as size", add(A, size="1000"), size=1_000)
_accepts("a whole float as size", add(A, size=1000.0), size=1_000)
_accepts("a whole float as modificationTime", add(A, modificationTime=float(START_MS)), modification_time=START_MS)
_accepts("a text as numRecords", add(A, numRecords="12"), num_records=12)
_accepts("a null numRecords is unknown", add(A, numRecords=None), num_records=None)
_accepts(
    "numbers in bounds are their text",
    add(A, minValues={"id": 1}, maxValues={"id": 9}),
    min_values={"id": "1"},
    max_values={"id": "9"},
)
_accepts("null bounds are none", add(A, minValues=None, maxValues=None), min_values=None, max_values=None)
_accepts("statistics as an object are kept as text", add(A, stats={"numRecords": 3}), stats=JsonText({"numRecords": 3}))
_accepts("statistics as text", add(A, stats='{"numRecords":3}'), stats=JsonText({"numRecords": 3}))
_accepts("timeRange as a number is its text", add(A, timeRangeStart=17), time_range_start="17")
_accepts("unknown fields of every shape", add(A, future={"a": [1, None]}, other=None, third="x"), size=1_000)
_accepts("tags", add(A, tags={"k": "v"}), size=1_000)
_accepts("null actions beside it", {"protocol": None, "metaData": None, **add(A), "remove": None}, size=1_000)
_accepts("an unknown key beside the action", {**add(A), "future": 1}, size=1_000)


@CASES.readable("add: size -1 is read")
def _(root: Path) -> Expected:
    """What such a file adds to the total is nobody's promise."""
    return _table(root, add(A, size=-1), add(B)).expected(1, [A, B], total_bytes=None, entries={PATH: {"size": -1}})


@CASES.readable("add: sizes at the edges of 64 bits")
def _(root: Path) -> Expected:
    files = [file("zero", 0), file("four-gib", 2**32), file("odd", 2**53 + 1), file("large", 2**62)]
    hand = _table(root, *(add(f) for f in files))
    return hand.expected(1, files, entries={f["path"]: {"size": f["size"]} for f in files})


@CASES.readable("add: of a repeated key the last one counts")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    hand.raw_version(1, compact_json(add(A)).replace('"size":1000', '"size":5,"size":1000').encode())
    return hand.expected(1, [A])


@CASES.readable("add: paths with odd characters")
def _(root: Path) -> Expected:
    names = ("with space", "hash#1", "percent%20", "ümläut-日本", "plus+and=equals", ".hidden", "_under", "quote'\"")
    files = [file(name) for name in names]
    return _table(root, *(add(f) for f in files)).expected(1, files)


for _name, _action in {
    "commitInfo": {"commitInfo": {"operation": "WRITE"}},
    "txn": {"txn": {"appId": "x", "version": 3}},
    "domainMetadata": {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
    "mergeskip": {"mergeskip": {"path": "a.parquet", "skipTimestamp": 1, "reason": "r", "operation": "merge"}},
    "an action of the future": {"whatever": [1, 2]},
    "no key at all": {},
    "a known action that is null": {"remove": None},
    "skip, as one writer's serialiser would name it": {
        "skip": {"path": "a.parquet", "skipTimestamp": 1, "reason": "r", "operation": "m"}
    },
}.items():

    @CASES.readable(f"unknown line among adds: {_name}")
    def _(root: Path, action: Any = _action) -> Expected:
        return _table(root, add(A), action, add(B)).expected(1, [A, B])

    @CASES.readable(f"unknown line beside an action in a version: {_name}")
    def _(root: Path, action: Any = _action) -> Expected:
        hand = _table(root, add(A))
        hand.version(2, action, {"txn": {}})
        hand.version(3, add(B))
        return hand.expected(3, [A, B], per_version={1: (PATH,), 2: (PATH,), 3: (PATH, B["path"])})


for _name, _action in {
    "commitInfo": {"commitInfo": {"operation": "WRITE"}},
    "txn": {"txn": {"appId": "x", "version": 3}},
    "domainMetadata": {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
    "an action of the future": {"whatever": {}},
}.items():

    @CASES.readable(f"unknown line alone in a version: {_name}")
    def _(root: Path, action: Any = _action) -> Expected:
        hand = _table(root, add(A))
        hand.version(2, action)
        hand.version(3, add(B))
        return hand.expected(3, [A, B], per_version={1: (PATH,), 2: (PATH,), 3: (PATH, B["path"])})


for _name, _line in {
    "no key at all": {},
    "a known action that is null": {"remove": None},
    "a pointer": {"version": 1, "size": 1, "format": "avro-state", "stateDir": "state-v00000000000000000001"},
    "a list of parts": {"version": 1, "checkpointId": "0123456789ab", "parts": []},
    "something else": {"hello": 1},
    "a commitInfo that says nothing": {"commitInfo": {}},
}.items():

    @CASES.fatal(f"a version without any action: {_name}", "5.4")
    def _(root: Path, line: Any = _line) -> Fatal:
        hand = _table(root, add(A))
        hand.version(2, line)
        return Fatal(naming(version_name(2), "holds no action"))


@CASES.readable("metadata: numbers in the configuration are their text")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.version(0, protocol(), metadata("table-at-0", configuration={"keep.days": 7, "ratio": 0.5, "text": "x"}))
    return hand.expected(0, [], configuration={"keep.days": "7", "ratio": "0.5", "text": "x"})


@CASES.readable("metadata: of several the last one wins whole")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.version(0, protocol(), metadata("first", configuration={"a": "1"}))
    hand.version(1, metadata("table-at-0", configuration={"b": "2"}), add(A))
    return hand.expected(1, [A], configuration={"b": "2"})


@CASES.readable("metadata: an unknown field, null name and description")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.version(0, protocol(), metadata("table-at-0", future={"x": 1}, name=None, description=None))
    return hand.expected(0, [])


# --- refused ------------------------------------------------------------------------------------------------------

_refuses("add: a missing path", add(A, "path"), "path")
_refuses("add: a null path", add(A, path=None), "path")
_refuses("add: an empty path", add(A, path=""), "path")
_refuses("add: a number as path", add(A, path=17), "path")
_refuses("add: a missing size", add(A, "size"), "size")
_refuses("add: a null size", add(A, size=None), "size")
_refuses("add: a size that is no whole number", add(A, size=1000.5), "size")
_refuses("add: a size that is text but no number", add(A, size="large"), "size")
_refuses("add: a size beyond 64 bits", add(A, size=2**70), "size")
_refuses("add: true as size", add(A, size=True), "size")
_refuses("add: a missing modificationTime", add(A, "modificationTime"), "modificationTime")
_refuses("add: a null modificationTime", add(A, modificationTime=None), "modificationTime")
_refuses("add: partitionValues that are a list", add(A, partitionValues=["date"]), "partitionValues")
_refuses("add: a list inside of partitionValues", add(A, partitionValues={"date": ["x"]}), "partitionValues")
_refuses("remove: a missing path", {"remove": {"deletionTimestamp": 1}}, "path")


@CASES.fatal("protocol: minReaderVersion 5 is refused as too new")
def _(root: Path) -> Fatal:
    hand = HandMade(root)
    hand.version(0, protocol(5, 5), metadata("table-at-0"))
    return Fatal(naming(r"\b5\b"))


@CASES.fatal("protocol: an upgrade to 5 in a later version is refused as too new")
def _(root: Path) -> Fatal:
    hand = _table(root, add(A))
    hand.version(2, protocol(5, 5))
    return Fatal(naming(r"\b5\b"))


@CASES.readable("protocol: minWriterVersion 5 may be read")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.version(0, protocol(4, 5), metadata("table-at-0"), add(A))
    return hand.expected(0, [A], protocol=(4, 5))


@CASES.fatal("protocol: an unknown reader feature is refused by name")
def _(root: Path) -> Fatal:
    hand = HandMade(root)
    hand.version(0, protocol(3, 3, ["skippedFiles", "timeCrystals"]), metadata("table-at-0"))
    return Fatal(naming("timeCrystals"))


@CASES.readable("protocol: below version 3 reader features mean nothing")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.version(0, protocol(2, 2, ["timeCrystals"]), metadata("table-at-0"), add(A))
    return hand.expected(0, [A], protocol=(2, 2))


@CASES.readable("protocol: an unknown writer feature may be read")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    body = {"minReaderVersion": 4, "minWriterVersion": 4, "writerFeatures": ["timeCrystals"]}
    hand.version(0, {"protocol": body}, metadata("table-at-0"), add(A))
    return hand.expected(0, [A])


@CASES.readable("protocol: without one the version is 1")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.version(0, metadata("table-at-0"))
    hand.version(1, add(A))
    return hand.expected(1, [A], protocol=(1, 1))


# --- order --------------------------------------------------------------------------------------------------------


@CASES.readable("order: an add after the remove of its path is live", "5.3")
def _(root: Path) -> Expected:
    hand = _table(root, add(A))
    hand.version(2, remove(PATH), add(A))
    return hand.expected(2, [A])


@CASES.readable("order: a remove after the add of its path removes", "5.3")
def _(root: Path) -> Expected:
    return _table(root, add(A), add(B), remove(PATH)).expected(1, [B])


@CASES.readable("order: removed in one version, added again in the next", "5.3")
def _(root: Path) -> Expected:
    hand = _table(root, add(A), add(B))
    hand.version(2, remove(PATH))
    hand.version(3, add(A))
    history = {1: (PATH, B["path"]), 2: (B["path"],), 3: (PATH, B["path"])}
    return hand.expected(3, [A, B], per_version=history)


@CASES.readable("order: a second add of a path replaces the first", "5.3")
def _(root: Path) -> Expected:
    larger = {**A, "size": 7_000}
    hand = _table(root, add(A))
    hand.version(2, add(larger))
    return hand.expected(2, [larger], entries={PATH: {"size": 7_000}})


@CASES.readable("order: the remove of an unknown path does nothing", "5.3")
def _(root: Path) -> Expected:
    return _table(root, remove("never-there.parquet"), add(A)).expected(1, [A])


@CASES.readable("order: metadata after the adds, as a sync writes it", "5.3")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.version(0, protocol(), metadata("before"))
    hand.version(1, remove("x.parquet"), add(A), metadata("table-at-0"))
    return hand.expected(1, [A])


@CASES.readable("order: of several keys in a line the first known kind counts")
def _(root: Path) -> Expected:
    """An add beside a remove: the order protocol, metaData, add, remove, mergeskip decides, not the order of the keys."""
    hand = HandMade(root)
    hand.start()
    hand.raw_version(1, lines([{**remove(PATH), **add(A)}, add(B)]))
    return hand.expected(1, [A, B])
