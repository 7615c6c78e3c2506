"""Which files a log consists of: pointers, states, versions, gaps, strangers."""

from pathlib import Path

from support.writers.cases.case import Cases
from support.writers.cases.expected import Expected, Fatal, naming
from support.writers.handmade import HandMade, add, file, metadata, remove
from support.writers.log_folder import (
    compact_json,
    java_gzip,
    lines,
    rust_gzip,
    scala_compressed,
    state_name,
    version_name,
)

CASES = Cases("5.4")

A, B, C, D = file("a", 1_000), file("b", 2_000), file("c", 3_000), file("d", 4_000)
PA, PB, PC, PD = A["path"], B["path"], C["path"], D["path"]


def _stated(root: Path, number: int = 1) -> HandMade:
    """Version 0 and one state, of A and B, that the pointer names."""
    hand = HandMade(root)
    hand.start()
    hand.state(number, [hand.manifest([A, B])])
    hand.pointer(number)
    return hand


# --- the pointer --------------------------------------------------------------------------------------------------


@CASES.readable("pointer: missing while a state is there", "1.3")
def _(root: Path) -> Expected:
    hand = _stated(root)
    hand.log.delete("_last_checkpoint")
    return hand.expected(1, [A, B])


@CASES.readable("pointer: stale, newer states exist", "1.3")
def _(root: Path) -> Expected:
    hand = _stated(root)
    hand.state(2, [hand.manifest([A, B, C])])
    hand.state(3, [hand.manifest([C])])
    return hand.expected(3, [C], per_version={1: (PA, PB), 2: (PA, PB, PC), 3: (PC,)})


@CASES.readable("pointer: stale, with a hole among the newer states", "1.3")
def _(root: Path) -> Expected:
    hand = _stated(root)
    hand.state(3, [hand.manifest([C])])
    return hand.expected(3, [C], per_version={1: (PA, PB), 3: (PC,)}, not_retained=(2,))


@CASES.readable("pointer: stale, newer versions and a newer state exist", "1.3")
def _(root: Path) -> Expected:
    hand = _stated(root)
    hand.version(2, add(C))
    hand.state(2, [hand.manifest([A, B, C])])
    hand.version(3, add(D))
    return hand.expected(3, [A, B, C, D])


for _name, _data in {
    "empty": b"",
    "blank": b" \n",
    "cut off": b'{"version":1,"size":2,"sizeI',
    "no JSON": b"version = 1",
    "an array": b"[1]",
    "nulls for its numbers": b'{"version":null,"size":null,"sizeInBytes":null,"numFiles":null,"format":"avro-state","stateDir":null}',
    "a text for its version": b'{"version":"one","format":"avro-state"}',
    "a negative version": b'{"version":-1,"size":0,"format":"avro-state","stateDir":"state-v00000000000000000001"}',
    "no version": b'{"format":"avro-state"}',
    "not UTF-8": b"\xff\xfe\x00",
    "gzip": rust_gzip(b'{"version":1,"size":2,"format":"avro-state","stateDir":"state-v00000000000000000001"}'),
    "01 01 and gzip": scala_compressed(b'{"version":1,"size":2,"format":"avro-state"}'),
    "nested too deeply": b"[" * 60_000,
}.items():

    @CASES.readable(f"pointer: unusable ({_name}), the log is listed", "1.3")
    def _(root: Path, data: bytes = _data) -> Expected:
        hand = _stated(root)
        hand.raw_pointer(data)
        hand.version(2, add(C))
        return hand.expected(2, [A, B, C])


@CASES.readable("pointer: without stateDir", "1.3")
def _(root: Path) -> Expected:
    hand = _stated(root)
    hand.pointer(1, "stateDir")
    return hand.expected(1, [A, B])


@CASES.readable("pointer: null stateDir", "1.3")
def _(root: Path) -> Expected:
    hand = _stated(root)
    hand.pointer(1, stateDir=None)
    return hand.expected(1, [A, B])


@CASES.readable("pointer: without the keys that may be absent", "1.3")
def _(root: Path) -> Expected:
    hand = _stated(root)
    hand.pointer(1, "parts", "checkpointId", "createdTime", "numFiles", "sizeInBytes")
    return hand.expected(1, [A, B])


@CASES.readable("pointer: with extra keys", "1.3")
def _(root: Path) -> Expected:
    hand = _stated(root)
    hand.pointer(1, protocolVersion=4, future={"a": 1})
    return hand.expected(1, [A, B])


@CASES.readable("pointer: with wrong totals", "1.3")
def _(root: Path) -> Expected:
    hand = _stated(root)
    hand.pointer(1, size=99, numFiles=99, sizeInBytes=-5)
    return hand.expected(1, [A, B])


@CASES.readable("pointer: names a missing state, versions lead there", "5.4")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    hand.version(1, add(A))
    hand.version(2, add(B))
    hand.pointer(2)
    return hand.expected(2, [A, B])


@CASES.readable("pointer: names a missing state, an older state and versions lead there", "5.4")
def _(root: Path) -> Expected:
    hand = _stated(root)
    hand.version(2, add(C))
    hand.pointer(2)
    return hand.expected(2, [A, B, C])


@CASES.fatal("pointer: names a missing state and nothing leads there", "5.4")
def _(root: Path) -> Fatal:
    hand = HandMade(root)
    hand.start()
    hand.pointer(5)
    return Fatal(naming(r"state-v0{19}5|state 5|version 5|0{19}1\.json"))


@CASES.fatal("pointer: names a missing state and only an older one is left", "5.4")
def _(root: Path) -> Fatal:
    """The pointer promises version 2. Showing version 1 instead would take back a commit without a word."""
    hand = _stated(root)
    hand.pointer(2)
    return Fatal(naming(r"state-v0{19}2|state 2|version 2|0{19}2\.json"))


# --- states and manifests -----------------------------------------------------------------------------------------


@CASES.fatal("state: a missing manifest is named", "2.2")
def _(root: Path) -> Fatal:
    hand = _stated(root)
    info = hand.manifest([C], name="manifests/manifest-deadbeef.avro")
    hand.state(2, [info])
    hand.pointer(2)
    hand.log.delete("manifests/manifest-deadbeef.avro")
    return Fatal(naming(r"manifest-deadbeef\.avro"))


@CASES.readable("state: only one, no version file at all")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.state(7, [hand.manifest([A])], meta=metadata("table-at-0"))
    hand.pointer(7)
    return hand.expected(7, [A], not_retained=(0, 6))


@CASES.readable("state: a folder without its manifest is ignored", "1")
def _(root: Path) -> Expected:
    hand = _stated(root)
    hand.log.put(f"{state_name(9)}/manifest-00000000.avro", b"left by a crash")
    hand.log.put(f"{state_name(8)}/._manifest.avro.crc", b"crc\x00")
    return hand.expected(1, [A, B])


@CASES.readable("state: a folder without its manifest does not stop later ones", "1")
def _(root: Path) -> Expected:
    hand = _stated(root)
    hand.log.put(f"{state_name(2)}/manifest-00000000.avro", b"left by a crash")
    hand.version(2, add(C))
    hand.version(3, add(D))
    return hand.expected(3, [A, B, C, D])


@CASES.readable("state: folders with other names are ignored", "1")
def _(root: Path) -> Expected:
    hand = _stated(root)
    data = hand.log.get(f"{state_name(1)}/_manifest.avro")
    for name in ("state-v9", f"{state_name(9)}.tmp", f".{state_name(9)}", f"x{state_name(9)}", "state-v" + "9" * 21):
        hand.log.put(f"{name}/_manifest.avro", data)
    return hand.expected(1, [A, B])


@CASES.readable("state: number 0 alone is the table at version 0")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    hand.state(0, [hand.manifest([])], meta=metadata("table-at-0"))
    hand.pointer(0)
    return hand.expected(0, [])


@CASES.readable("state: with later versions")
def _(root: Path) -> Expected:
    hand = _stated(root)
    hand.version(2, remove(PA), add(C))
    hand.version(3, add(D))
    history = {0: (), 1: (PA, PB), 2: (PB, PC), 3: (PB, PC, PD)}
    return hand.expected(3, [B, C, D], per_version=history)


@CASES.readable("state: with 150 later versions", "5.2")
def _(root: Path) -> Expected:
    hand = _stated(root)
    files = [file(f"later-{number:03d}") for number in range(2, 152)]
    for number, later in enumerate(files, 2):
        hand.version(number, add(later))
    return hand.expected(151, [A, B, *files])


@CASES.readable("state: older version files are deleted", "6.6")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.state(12, [hand.manifest([A, B])], meta=metadata("table-at-0"))
    hand.pointer(12)
    for number in (11, 12):
        hand.version(number, add(D))
    hand.version(13, add(C))
    return hand.expected(13, [A, B, C], per_version={12: (PA, PB), 13: (PA, PB, PC)}, not_retained=(0, 11))


@CASES.readable("state: a version file of its own number is not applied again", "6.3")
def _(root: Path) -> Expected:
    hand = _stated(root, 6)
    hand.version(6, add(C))
    hand.version(7, add(D))
    return hand.expected(7, [A, B, D], per_version={6: (PA, PB), 7: (PA, PB, PD)})


@CASES.readable("state: a version file with a number below it is ignored", "6.3")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    for number in range(1, 6):
        hand.state(number, [hand.manifest([A, B])])
    hand.pointer(5)
    hand.version(1, add(C))
    return hand.expected(5, [A, B], per_version={0: (), 1: (PA, PB), 5: (PA, PB)})


@CASES.readable("state: an old one whose manifest was collected does not hide the newest", "6.6")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    old = hand.manifest([C], name="manifests/manifest-0badc0de.avro")
    hand.state(1, [old])
    hand.state(2, [hand.manifest([A])])
    hand.pointer(2)
    hand.log.delete("manifests/manifest-0badc0de.avro")
    return hand.expected(2, [A])


@CASES.readable("state: its totals are estimates", "2.2")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    hand.state(1, [hand.manifest([A, B])], numFiles=77, totalBytes=1)
    hand.pointer(1)
    return hand.expected(1, [A, B])


@CASES.readable("tombstone: hides its path", "2.2")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    hand.state(1, [hand.manifest([A, B])], tombstones=[PA])
    hand.pointer(1)
    return hand.expected(1, [B])


@CASES.readable("tombstone: hides a path that a later manifest holds again", "5.3")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    old = hand.manifest([A, B])
    hand.state(1, [old])
    hand.state(2, [old], tombstones=[PA])
    hand.state(3, [old, hand.manifest([{**A, "size": 5}, C])], tombstones=[PA])
    hand.pointer(3)
    return hand.expected(3, [B, C])


@CASES.readable("tombstone: its path added in a later version is visible", "5.3")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    hand.state(1, [hand.manifest([A, B])], tombstones=[PA])
    hand.pointer(1)
    again = {**A, "size": 5_000}
    hand.version(2, add(again))
    return hand.expected(2, [again, B], entries={PA: {"size": 5_000}}, per_version={1: (PB,), 2: (PA, PB)})


@CASES.readable("tombstone: of a path that no manifest holds", "2.2")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    hand.state(1, [hand.manifest([A, B])], tombstones=["never-there.parquet", PA, PA])
    hand.pointer(1)
    return hand.expected(1, [B])


@CASES.readable("state: of a path in two manifests the last manifest wins", "5.3")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    newer = {**A, "size": 9_000}
    hand.state(1, [hand.manifest([A, B]), hand.manifest([newer])])
    hand.pointer(1)
    return hand.expected(1, [newer, B], entries={PA: {"size": 9_000}})


@CASES.fatal("state: protocolVersion 5 is refused as too new", "2.4")
def _(root: Path) -> Fatal:
    hand = HandMade(root)
    hand.start()
    hand.state(1, [hand.manifest([A])], protocolVersion=5)
    hand.pointer(1)
    return Fatal(naming(r"\b5\b"))


@CASES.fatal("state: no log at all")
def _(root: Path) -> Fatal:
    root.mkdir(parents=True)
    (root / "a.parquet").write_bytes(b"PAR1")
    return Fatal(naming(root.name))


@CASES.fatal("state: an empty log folder")
def _(root: Path) -> Fatal:
    HandMade(root)
    return Fatal(naming(root.name))


# --- versions and gaps --------------------------------------------------------------------------------------------


@CASES.readable("versions: only version files")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start(add(A))
    hand.version(1, add(B))
    hand.version(2, remove(PA))
    return hand.expected(2, [B], per_version={0: (PA,), 1: (PA, PB), 2: (PB,)})


@CASES.readable("versions: each in another compression", "1.1")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    hand.raw_version(1, scala_compressed(lines([add(A)])))
    hand.raw_version(2, rust_gzip(lines([add(B)])))
    hand.raw_version(3, b"\x01\x02" + java_gzip(lines([add(C)])))
    hand.raw_version(4, compact_json(add(D)).encode())
    return hand.expected(4, [A, B, C, D])


@CASES.fatal("gap: a missing version without a state is named")
def _(root: Path) -> Fatal:
    hand = HandMade(root)
    hand.start()
    hand.version(1, add(A))
    hand.version(3, add(B))
    return Fatal(naming(r"0{19}2\.json|version 2\b"))


@CASES.fatal("gap: a missing version after the state is named")
def _(root: Path) -> Fatal:
    hand = _stated(root, 3)
    for number in (1, 2, 3):
        hand.version(number, add(A))
    hand.version(5, add(C))
    return Fatal(naming(r"0{19}4\.json|version 4\b"))


@CASES.fatal("gap: missing first versions without a state are named")
def _(root: Path) -> Fatal:
    hand = HandMade(root)
    for number in (3, 4):
        hand.version(number, add(A))
    return Fatal(naming(r"0{20}\.json|version 0\b"))


@CASES.readable("gap: covered by a state")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start(add(D))
    hand.version(1, add(A))
    hand.state(5, [hand.manifest([A, B])])
    hand.version(6, add(C))
    hand.version(7, remove(PB))
    hand.pointer(5)
    history = {0: (PD,), 1: (PA, PD), 5: (PA, PB), 6: (PA, PB, PC), 7: (PA, PC)}
    return hand.expected(7, [A, C], per_version=history, not_retained=(2, 4))


@CASES.readable("gap: covered by a state right above it")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    hand.version(1, add(A))
    hand.version(3, add(C))
    hand.state(2, [hand.manifest([A, B])])
    return hand.expected(3, [A, B, C], per_version={1: (PA,), 2: (PA, PB), 3: (PA, PB, PC)})


# --- strangers in the folder --------------------------------------------------------------------------------------


@CASES.readable("names: version files that are not 20 digits and .json are ignored", "1")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start(add(A))
    strange = lines([add(B)])
    for name in (
        "1.json",
        f"{1:019d}.json",
        f"{1:021d}.json",
        f"{1:020d}.json.tmp",
        f"{1:020d}.JSON",
        f"{1:020d}.jsonl",
        f"{1:020d}",
        f"{1:015d}_copy.json",
        f"+{1:019d}.json",
        f"-{1:019d}.json",
        f" {1:019d}.json",
        f"{1:018d}_1.json",
        "٠" * 19 + "١.json",
        "0000000000000000000x.json",
    ):
        hand.log.put(name, strange)
    return hand.expected(0, [A])


@CASES.readable("names: staging files, sidecars, dot files and strangers are ignored", "1")
def _(root: Path) -> Expected:
    hand = _stated(root)
    strange = lines([add(C)])
    for name in (
        f"{version_name(2)}#1",
        f"#{version_name(2)}",
        f".{version_name(2)}.crc",
        f".{version_name(2)}",
        f"_{version_name(2)}",
        "_last_checkpoint#1",
        "._last_checkpoint.crc",
        "README.md",
        "manifests/manifest-ffffffff.avro#7",
        "manifests/.manifest-ffffffff.avro.crc",
        f"{state_name(1)}/_manifest.avro#2",
        f"{state_name(1)}/_manifest.json",
        f"{state_name(2)}/_manifest.avro#2",
        "_temporary/0/part",
        f"backup/{version_name(2)}",
    ):
        hand.log.put(name, strange)
    return hand.expected(1, [A, B])


@CASES.readable("names: a folder where a version file could be is ignored", "1")
def _(root: Path) -> Expected:
    hand = _stated(root)
    hand.log.put(f"{version_name(2)}/inside", b"x")
    return hand.expected(1, [A, B])
