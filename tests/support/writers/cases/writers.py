"""Whole tables, as each known writer would leave them after ordinary work."""

from pathlib import Path

from support.writers.cases.case import Cases
from support.writers.cases.expected import Expected, Fatal, naming, sorted_paths
from support.writers.handmade import HandMade
from support.writers.legacy_jar import LegacyJarTable
from support.writers.log_folder import state_name, version_name
from support.writers.repair_json import repaired_table
from support.writers.rust import RustTable
from support.writers.scala import ScalaTable
from support.writers.scala_json import ScalaJsonTable, checkpoint_name

CASES = Cases("6.1")

KNOWN_FEATURES = [
    "skippedFiles",
    "extendedMetadata",
    "footerOffsets",
    "multiPartCheckpoint",
    "schemaDeduplication",
    "avroState",
]


# --- Scala, Avro states -------------------------------------------------------------------------------------------


@CASES.readable("scala: a table that was only created")
def _(root: Path) -> Expected:
    return ScalaTable(root).expected()


@CASES.readable("scala: version 0 as plain text", "1.1")
def _(root: Path) -> Expected:
    table = ScalaTable(root, compressed=False)
    table.append()
    return table.expected()


@CASES.readable("scala: appends, each in a state of its own", filtered=True)
def _(root: Path) -> Expected:
    table = ScalaTable(root, partition_columns=("date",))
    table.append(2, date="2024-01-01")
    second = table.append(2, date="2024-01-02")
    table.append(2, date="2024-01-03")
    return table.expected(where={"date = '2024-01-02'": sorted_paths(second)})


@CASES.readable("scala: few removes become tombstones", "2.2")
def _(root: Path) -> Expected:
    table = ScalaTable(root)
    files = table.append(20)
    table.append(2)
    table.remove(files[:2])
    return table.expected()


@CASES.readable("scala: many removes compact the state", "6.5")
def _(root: Path) -> Expected:
    table = ScalaTable(root, partition_columns=("date",), entries_per_manifest=2)
    files = table.append(3, date="2024-01-01")
    table.append(3, date="2024-01-02")
    table.remove(files[:1])
    return table.expected()


@CASES.readable("scala: everything removed leaves an empty manifest", "2.3")
def _(root: Path) -> Expected:
    table = ScalaTable(root)
    table.remove(table.append(3))
    return table.expected()


@CASES.readable("scala: an emptied table takes files again", "6.5")
def _(root: Path) -> Expected:
    table = ScalaTable(root)
    table.remove(table.append(3))
    table.append(1)
    return table.expected()


@CASES.readable("scala: the twenty-second manifest compacts twenty-one", "6.5")
def _(root: Path) -> Expected:
    table = ScalaTable(root)
    for _number in range(22):
        table.append(1)
    return table.expected()


@CASES.readable("scala: selective compaction brings back what a kept manifest holds", "6.5")
def _(root: Path) -> Expected:
    table = ScalaTable(root, partition_columns=("date",))
    kept = table.append(20, date="2024-01-01")
    dirty = table.append(4, date="2024-01-02")
    table.remove([kept[0], *dirty[:3]])
    assert kept[0]["path"] in table.per_version[3], "the generator no longer shows the known fault"
    return table.expected()


@CASES.readable("scala: a merge replaces files by one", "2.1")
def _(root: Path) -> Expected:
    table = ScalaTable(root)
    sources = table.append(2) + table.append(2)
    merged = table.merge(sources)
    return table.expected(entries={merged["path"]: {"data_change": False, "num_merge_ops": 1, "min_values": None}})


@CASES.readable("scala: an overwrite removes all and adds in one state", "6.5")
def _(root: Path) -> Expected:
    table = ScalaTable(root)
    old = table.append(3)
    table.commit(table.invented.files(2), [file["path"] for file in old])
    return table.expected()


@CASES.readable("scala: CHECKPOINT moves to the next free number and keeps metadata", "6.3")
def _(root: Path) -> Expected:
    table = ScalaTable(root, partition_columns=("date",))
    table.append(2, date="2024-01-01")
    table.checkpoint()
    table.append(2, date="2024-01-02")
    return table.expected()


@CASES.readable("scala: a late state under number 0 is not the table at version 0", "0")
def _(root: Path) -> Expected:
    table = ScalaTable(root)
    for _number in range(3):
        table.append(2)
    table.checkpoint(at=0)
    table.checkpoint()
    return table.expected()


@CASES.readable("scala: a late state under number 0, and no other state since", "0")
def _(root: Path) -> Expected:
    table = ScalaTable(root)
    table.append(2)
    table.append(1)
    table.checkpoint(at=0)
    return table.expected()


@CASES.readable("scala: manifests inside their state's folder", "1.2")
def _(root: Path) -> Expected:
    table = ScalaTable(root, home="state")
    for _number in range(3):
        table.append(2)
    return table.expected()


@CASES.readable("scala: manifests named by absolute path", "1.2")
def _(root: Path) -> Expected:
    table = ScalaTable(root, home="absolute")
    table.append(2)
    table.append(2)
    return table.expected()


for _codec in ("null", "snappy", "zstandard"):

    @CASES.readable(f"scala: file manifests written with codec {_codec}", "2.3")
    def _(root: Path, codec: str = _codec) -> Expected:
        table = ScalaTable(root, manifest_codec=codec)
        table.append(5)
        table.append(5)
        return table.expected()


for _release in ("0.4.5", "0.4.6", "0.5.1"):

    @CASES.readable(f"scala {_release}: text bounds on numbers don't hide files", "7", filtered=True)
    def _(root: Path, release: str = _release) -> Expected:
        table = ScalaTable(root, release=release, partition_columns=("month",))
        by_month = {}
        for month in range(1, 13):
            by_month[month] = table.invented.file({"month": str(month)})
        table.commit(by_month.values())
        return table.expected(
            where={
                "month = 11": (by_month[11]["path"],),
                "month IN (2, 12)": sorted_paths([by_month[2], by_month[12]]),
                "month > 9": sorted_paths([by_month[10], by_month[11], by_month[12]]),
            }
        )


@CASES.readable("scala 0.5.4: numeric bounds prune months", "7", filtered=True)
def _(root: Path) -> Expected:
    table = ScalaTable(root, partition_columns=("month",))
    by_month = {month: table.append(1, month=str(month))[0] for month in range(1, 13)}
    return table.expected(
        where={
            "month = 11": (by_month[11]["path"],),
            "month < 3": sorted_paths([by_month[1], by_month[2]]),
            "month = 13": (),
        }
    )


@CASES.readable("scala: partition values are the escaped folder names", "7")
def _(root: Path) -> Expected:
    table = ScalaTable(root, partition_columns=("hour",))
    file = table.append(1, hour="10%3A00")[0]
    return table.expected(entries={file["path"]: {"partition_values": {"hour": "10%3A00"}}})


@CASES.readable("scala: a null partition is stored as its marker", "7", filtered=True)
def _(root: Path) -> Expected:
    table = ScalaTable(root, partition_columns=("date",))
    unknown = table.append(1, date="__HIVE_DEFAULT_PARTITION__")[0]
    known = table.append(1, date="2024-01-01")[0]
    return table.expected(
        entries={unknown["path"]: {"partition_values": {"date": None}}},
        where={"date IS NULL": (unknown["path"],), "date = '2024-01-01'": (known["path"],)},
    )


@CASES.readable("scala: bounds that are all null prune nothing", "7")
def _(root: Path) -> Expected:
    table = ScalaTable(root, partition_columns=("date",))
    table.commit([table.invented.file({"date": ""})])
    return table.expected()


# --- Scala, JSON checkpoints --------------------------------------------------------------------------------------


@CASES.readable("scala json: no checkpoint yet", "1.4")
def _(root: Path) -> Expected:
    table = ScalaJsonTable(root)
    old = table.append(3)
    table.commit(table.invented.files(1), old[:1])
    return table.expected()


for _protocol in (None, (1, 1), (2, 2), (3, 3), (4, 4)):

    @CASES.readable(f"scala json: protocol {_protocol or 'absent'}", "3")
    def _(root: Path, protocol: tuple[int, int] | None = _protocol) -> Expected:
        table = ScalaJsonTable(root, protocol=protocol, partition_columns=("date",))
        for day in range(1, 4):
            table.append(2, date=f"2024-01-0{day}")
        return table.expected()


@CASES.readable("scala json: every known feature", "3")
def _(root: Path) -> Expected:
    writer_features = [*KNOWN_FEATURES, "checkpoint", "optimizeWrite"]
    table = ScalaJsonTable(root, protocol=(4, 4), reader_features=KNOWN_FEATURES, writer_features=writer_features)
    table.append()
    return table.expected()


@CASES.readable("scala json: a checkpoint and versions after it", "1.4")
def _(root: Path) -> Expected:
    table = ScalaJsonTable(root, partition_columns=("date",))
    files = [file for _ in range(10) for file in table.append(1, date="2024-01-01")]
    table.commit((), files[:2])
    return table.expected()


@CASES.readable("scala json: a checkpoint whose earlier versions are deleted", "1.4")
def _(root: Path) -> Expected:
    table = ScalaJsonTable(root)
    for _number in range(12):
        table.append(1)
    table.delete_versions_below(10)
    return table.expected(not_retained=(0, 9))


@CASES.readable("scala json: a plain text checkpoint", "1.4")
def _(root: Path) -> Expected:
    table = ScalaJsonTable(root, compressed=False, checkpoint_every=2)
    for _number in range(3):
        table.append(1)
    table.delete_versions_below(2)
    return table.expected()


@CASES.readable("scala json: a checkpoint in several parts", "1.4")
def _(root: Path) -> Expected:
    table = ScalaJsonTable(root, checkpoint_every=3, actions_per_part=4)
    for _number in range(4):
        table.append(3)
    assert len(table.parts) == 3
    table.delete_versions_below(3)
    return table.expected()


@CASES.fatal("scala json: a missing part of a checkpoint is named", "1.4")
def _(root: Path) -> Fatal:
    table = ScalaJsonTable(root, checkpoint_every=3, actions_per_part=4)
    for _number in range(3):
        table.append(3)
    table.delete_versions_below(3)
    table.log.delete(table.parts[1])
    return Fatal(naming(table.parts[1].replace(".", r"\.")))


@CASES.fatal("scala json: a missing checkpoint without its versions is named", "1.4")
def _(root: Path) -> Fatal:
    table = ScalaJsonTable(root, checkpoint_every=3)
    for _number in range(4):
        table.append(1)
    table.delete_versions_below(3)
    table.log.delete(checkpoint_name(3))
    return Fatal(naming(r"\.checkpoint\.json|\b0{20}\.json|version 0"))


@CASES.readable("scala json: a missing checkpoint whose versions are all there", "1.4")
def _(root: Path) -> Expected:
    table = ScalaJsonTable(root, checkpoint_every=3)
    for _number in range(4):
        table.append(1)
    table.log.delete(checkpoint_name(3))
    return table.expected()


# --- Rust ---------------------------------------------------------------------------------------------------------


@CASES.readable("rust: a table that was only initialised", "6.2")
def _(root: Path) -> Expected:
    return RustTable(root).expected()


@CASES.readable("rust: a state at every commit", "6.2", filtered=True)
def _(root: Path) -> Expected:
    table = RustTable(root, partition_columns=("date", "region"))
    for day in (1, 2, 3):
        table.append(2, date=f"2024-01-0{day}", region="eu")
    return table.expected(where={"date = '2024-01-03' AND region = 'eu'": _added(table, 3)})


@CASES.readable("rust: states every third commit, versions between", "6.2")
def _(root: Path) -> Expected:
    table = RustTable(root, checkpoint_every=3)
    files = [file for _ in range(7) for file in table.append(4)]
    table.commit((), files[:1])
    return table.expected()


@CASES.readable("rust: no state at all", "6.2")
def _(root: Path) -> Expected:
    table = RustTable(root, checkpoint_every=0)
    old = table.append(4)
    table.commit([table.file()], old[:2])
    return table.expected()


@CASES.readable("rust: removes become tombstones", "6.2")
def _(root: Path) -> Expected:
    table = RustTable(root)
    files = table.append(30)
    table.commit((), files[:1])
    table.commit([table.file()], files[1:2])
    assert table.tombstones == [files[0]["path"], files[1]["path"]]
    return table.expected()


@CASES.readable("rust: many removes compact the state", "6.5")
def _(root: Path) -> Expected:
    table = RustTable(root)
    files = table.append(10)
    table.commit((), files[:4])
    assert not table.tombstones
    return table.expected()


@CASES.readable("rust: more than twenty manifests compact the state", "6.5")
def _(root: Path) -> Expected:
    table = RustTable(root)
    for _number in range(23):
        table.append(1)
    return table.expected()


@CASES.readable("rust: manifests without a codec key", "2.3")
def _(root: Path) -> Expected:
    table = RustTable(root, codec_key=False)
    table.append(3)
    return table.expected()


@CASES.readable("rust: a manifest of many blocks", "2.3")
def _(root: Path) -> Expected:
    table = RustTable(root)
    table.append(200)
    return table.expected()


@CASES.readable("rust: mergeskip lines change nothing but the version", "3")
def _(root: Path) -> Expected:
    table = RustTable(root, checkpoint_every=0)
    file = table.append(1)[0]
    table.skip(file["path"])
    return table.expected()


@CASES.readable("rust: the document mapping, time range and opstamp of an entry", "2.1")
def _(root: Path) -> Expected:
    table = RustTable(root)
    file = table.append(1)[0]
    values = {"time_range_start": "1775007200", "time_range_end": "1775007300", "delete_opstamp": 0}
    return table.expected(entries={file["path"]: values})


@CASES.readable("rust: a path added again after its tombstone is shown until the next state", "5.3")
def _(root: Path) -> Expected:
    table = RustTable(root, checkpoint_every=2)
    files = table.append(30)
    table.append(1)
    table.commit((), files[:1])
    table.append(1)
    table.commit(files[:1])
    assert files[0]["path"] in table.per_version[5]
    return table.expected()


@CASES.readable("rust: a path added again after its tombstone is hidden by the next state", "5.3")
def _(root: Path) -> Expected:
    table = RustTable(root)
    files = table.append(30)
    table.commit((), files[:1])
    table.commit(files[:1])
    assert files[0]["path"] not in table.per_version[3]
    return table.expected()


@CASES.readable("rust: a Rust commit under a Scala state's number is lost", "6.3")
def _(root: Path) -> Expected:
    table = ScalaTable(root)
    for _number in range(5):
        table.append(1)
    lost = RustTable(root.with_name(f"{root.name}-other"))
    lost.append(1)
    table.log.put(version_name(1), lost.log.get(version_name(1)))
    return table.expected()


@CASES.readable("rust: a Rust commit above a Scala state counts", "6.3")
def _(root: Path) -> Expected:
    table = ScalaTable(root)
    for _number in range(2):
        table.append(1)
    other = RustTable(root.with_name(f"{root.name}-other"))
    added = other.append(1)
    table.log.put(version_name(3), other.log.get(version_name(1)))
    live = (table.base.live() if table.base else []) + added
    return table.expected(
        version=3,
        paths=sorted_paths(live),
        total_bytes=sum(file["size"] for file in live),
        per_version={**table.per_version, 3: sorted_paths(live)},
    )


def _added(table: RustTable, version: int) -> tuple[str, ...]:
    return tuple(sorted(set(table.per_version[version]) - set(table.per_version[version - 1])))


# --- early jars and repair ----------------------------------------------------------------------------------------


@CASES.readable("early jar: version files beside a JSON state", "2.5")
def _(root: Path) -> Expected:
    table = LegacyJarTable(root, partition_columns=("date",))
    old = table.append(2, date="2024-01-01")
    table.commit(table.invented.files(1, {"date": "2024-01-02"}), old[:1])
    return table.expected()


@CASES.readable("early jar: a JSON state whose versions are deleted", "2.5")
def _(root: Path) -> Expected:
    table = LegacyJarTable(root, partition_columns=("date",), checkpoint_every=3)
    for day in (1, 2, 3, 4):
        table.append(2, date=f"2024-01-0{day}")
    table.delete_versions_below(4)
    kept = {version: table.per_version[version] for version in (3, 4)}
    return table.expected(per_version=kept, not_retained=(1, 2))


@CASES.fatal("early jar: its missing manifest is named", "2.5")
def _(root: Path) -> Fatal:
    table = LegacyJarTable(root)
    table.append(2)
    table.delete_versions_below(2)
    table.log.delete(f"{state_name(1)}/manifest-0000.avro")
    return Fatal(naming(r"manifest-0000\.avro"))


@CASES.readable("repair: two plain text versions, the second without a final newline", "3")
def _(root: Path) -> Expected:
    return repaired_table(root, partition_columns=("date",))


@CASES.readable("repair: a single file", "3")
def _(root: Path) -> Expected:
    return repaired_table(root, files=1)


@CASES.readable("scala json: an upgrade to states keeps the old versions readable", "5.4")
def _(root: Path) -> Expected:
    """A JSON table of 0.4.0, then one state of a later release, numbered after the version files."""
    table = ScalaJsonTable(root, protocol=(4, 4), checkpoint_every=3)
    for _number in range(4):
        table.append(2)
    other = ScalaTable(root.with_name(f"{root.name}-other"), seed="upgrade")
    other.commit([*table.live.values(), *other.invented.files(1)])
    assert other.base is not None
    manifest = other.base.manifests[0].info["path"]
    table.log.put(manifest, other.log.get(manifest))
    live = other.base.live()
    hand = HandMade(root)
    hand.state(5, [other.base.manifests[0].info])
    hand.pointer(5)
    return table.expected(
        version=5,
        paths=sorted_paths(live),
        total_bytes=sum(file["size"] for file in live),
        per_version={**table.per_version, 5: sorted_paths(live)},
    )
