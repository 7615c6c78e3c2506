"""Drawn folders with tables of other formats inside: their files are never cleaned, and all other old files are."""

from hypothesis import given, settings
from hypothesis import strategies as st

from support.cleaning import World

LAKES = {
    "iceberg": ("metadata/v1.metadata.json", "metadata/snap-1.avro", "data/a.parquet"),
    "hinted iceberg": ("metadata/version-hint.text", "data/deep/a.parquet"),
    "zipped iceberg": ("metadata/00000-x.metadata.json.gz", "a.parquet"),
    "hudi": (".hoodie/hoodie.properties", "p=1/a.parquet"),
    "delta": ("_delta_log/00000000000000000000.json", "a.parquet"),
    "lance": ("_versions/1.manifest", "data/a.lance"),
    "ours": ("_transaction_log/00000000000000000000.json", "a.parquet"),
}
"""Files of each, the ones that tell among them."""
PLAIN = ("orphan.parquet", "metadata/readme.json", "data/orphan.parquet")
"""Of no table, though a folder's name may suggest one."""
FOLDERS = st.lists(
    st.tuples(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), st.sampled_from((*LAKES, "plain"))),
    min_size=1,
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(FOLDERS)
def test_files_of_inner_tables_stay_and_other_old_files_go(folders: list[tuple[list[str], str]]) -> None:
    world = World()
    lakes = {"/".join(parts) for parts, kind in folders if kind != "plain"}
    plain: set[str] = set()
    for parts, kind in folders:
        folder = "/".join(parts)
        names = LAKES.get(kind, PLAIN)
        for name in names:
            world.store.put(f"{folder}/{name}", b"x")
        if kind == "plain":
            plain |= {f"{folder}/{name}" for name in names}
    world.clock.advance(hours=24 * 60)
    world.append()
    before = {info.key for info in world.store.list()}
    world.table.purge()
    gone = before - {info.key for info in world.store.list()}
    inside = {key for key in before if any(key.startswith(f"{lake}/") for lake in lakes)}
    assert not gone & inside, "files of other tables"
    assert plain - inside <= gone, "orphans stay"
