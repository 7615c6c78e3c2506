"""Random state manifests, for properties."""

import string

from hypothesis import strategies as st

from headgate_schemas.actions.actions import Metadata
from headgate_table.indextables.format.bounds import Bounds
from headgate_table.indextables.format.state_manifest import ManifestInfo, StateManifest

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_COUNTS = st.integers(0, 2**63 - 1)
_NAMES = st.text(string.ascii_lowercase, min_size=1, max_size=6)

_INFOS = st.builds(
    ManifestInfo,
    path=_NAMES.map(lambda name: f"manifests/manifest-{name}.avro"),
    num_entries=_COUNTS,
    min_added_at_version=_COUNTS,
    max_added_at_version=_COUNTS,
    partition_bounds=st.none()
    | st.dictionaries(_TEXTS, st.builds(Bounds, st.none() | _TEXTS, st.none() | _TEXTS), max_size=3),
    tombstone_count=_COUNTS,
    live_entry_count=st.integers(-1, 2**63 - 1),
)

_METADATA = st.builds(
    Metadata,
    id=_NAMES,
    schema_string=_TEXTS,
    partition_columns=st.lists(_NAMES, max_size=3).map(tuple),
    configuration=st.dictionaries(_TEXTS, _TEXTS, max_size=3),
    name=st.none() | _TEXTS,
    description=st.none() | _TEXTS,
    created_time=st.none() | _COUNTS,
)


def states() -> st.SearchStrategy[StateManifest]:
    return st.builds(
        StateManifest,
        version=_COUNTS,
        created_at=_COUNTS,
        num_files=_COUNTS,
        total_bytes=_COUNTS,
        manifests=st.lists(_INFOS, max_size=3).map(tuple),
        tombstones=st.lists(_TEXTS, max_size=4).map(tuple),
        schema_registry=st.dictionaries(_TEXTS, _TEXTS, max_size=3),
        protocol_version=st.integers(1, 4),
        metadata=st.none() | _METADATA,
        coordinator=st.none() | _TEXTS,
    )
