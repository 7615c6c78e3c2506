"""Random manifests that a form can hold, and random updates."""

from hypothesis import strategies as st

from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile, DeltaLog, Index, LobFile, Stat, Updates
from headgate_table.milvus.format.manifest import Manifest, ManifestForm

LONGS = st.integers(-(2**63), 2**63 - 1)
INTS = st.integers(-(2**31), 2**31 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TEXT_TUPLES = st.lists(TEXTS, max_size=3).map(tuple)
PROPERTIES = st.dictionaries(TEXTS, TEXTS, max_size=3)
NO_PROPERTIES: st.SearchStrategy[dict[str, str]] = st.just({})


def manifests(form: ManifestForm) -> st.SearchStrategy[Manifest]:
    version = form.version
    properties = PROPERTIES if version >= 4 else NO_PROPERTIES
    metadata = st.binary(max_size=8) if version < 4 else st.just(b"")
    files = st.builds(ColumnGroupFile, TEXTS, LONGS, LONGS, metadata, properties)
    groups = st.builds(ColumnGroup, TEXT_TUPLES, st.lists(files, max_size=4).map(tuple), TEXTS)
    logs = st.builds(DeltaLog, TEXTS, LONGS, INTS)
    stats = st.builds(Stat, TEXT_TUPLES, PROPERTIES if version >= 3 else NO_PROPERTIES)
    return st.builds(
        Manifest,
        st.lists(groups, max_size=3).map(tuple),
        st.lists(logs, max_size=3).map(tuple),
        st.dictionaries(TEXTS, stats, max_size=3),
        st.lists(_indexes(form), max_size=3).map(tuple) if version >= 2 else st.just(()),
        st.lists(st.builds(LobFile, TEXTS, LONGS, LONGS, LONGS, LONGS), max_size=3).map(tuple)
        if version >= 5
        else st.just(()),
        st.just(form),
    )


ANY_MANIFEST = st.sampled_from(ManifestForm).flatmap(manifests)


def _indexes(form: ManifestForm) -> st.SearchStrategy[Index]:
    if form.version < 6:
        return st.builds(Index, TEXTS, TEXTS, TEXTS, PROPERTIES)
    return st.builds(
        Index,
        TEXTS,
        TEXTS,
        TEXTS,
        PROPERTIES,
        TEXTS,
        *(LONGS for _ in range(7)),
        *(INTS for _ in range(3)),
        TEXT_TUPLES,
    )


NAMES = st.text("abcdefgh0123456789_.-", min_size=1, max_size=10).filter(lambda name: name.strip(".") != "")


@st.composite
def updates(draw: st.DrawFn, columns: tuple[str, ...] = ("id", "vector")) -> Updates:
    """One append of two groups at most, delta logs and stats: what fits any table that these updates made."""
    rows = draw(st.integers(0, 1000))
    appends = draw(st.integers(0, 2))
    groups = tuple(
        tuple(ColumnGroup((column,), (ColumnGroupFile(draw(NAMES), 0, rows),)) for column in columns)
        for _ in range(appends)
    )
    logs = draw(st.lists(st.builds(DeltaLog, NAMES, st.integers(0, 1000), st.sampled_from([0, 1, 2])), max_size=2))
    stats = draw(st.dictionaries(NAMES, st.builds(Stat, st.lists(NAMES, max_size=2).map(tuple)), max_size=2))
    return Updates((), groups, tuple(logs), stats)
