"""Keeps each distinct document mapping once: files refer to it by hash (docs/format.md, section 4).

Pure rules over files and a registry (bare hash to text). The writers store the registry.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.actions.doc_mapping import bare_hash, look_up, mapping_hash

RENORMALISE_THRESHOLD = 5
"""More distinct references than this are worth a look for mappings that differ only in the order of their JSON."""


@dataclass(frozen=True, slots=True)
class Deduplicated:
    adds: tuple[AddFile, ...]
    """The files in their order; none carries a mapping inline."""
    new_entries: Mapping[str, str]
    """What has to be added to the registry: bare hash to the text as the first file had it."""


@dataclass(frozen=True, slots=True)
class Renormalised:
    renamed: Mapping[str, str]
    """Old reference to new one, only where they differ. Every entry that holds an old one must be rewritten."""
    registry: Mapping[str, str]
    """The registry after that, by bare hash. Mappings that nothing here refers to are kept."""


def deduplicate(adds: Iterable[AddFile], registry: Mapping[str, str]) -> Deduplicated:
    """Move inline mappings into the registry. Files without one are unchanged."""
    hashes: dict[str, str] = {}
    new: dict[str, str] = {}
    moved: list[AddFile] = []
    for add in adds:
        text = add.doc_mapping_json
        if text is None:
            moved.append(add)
            continue
        # Files of one writer share one text, so each distinct text is hashed once.
        hash_ = hashes.get(text)
        if hash_ is None:
            hash_ = hashes[text] = mapping_hash(text)
            if look_up(hash_, registry) is None:
                new.setdefault(hash_, text)
        moved.append(replace(add, doc_mapping_json=None, doc_mapping_ref=hash_))
    return Deduplicated(adds=tuple(moved), new_entries=new)


def renormalise(
    refs: Iterable[str], registry: Mapping[str, str], threshold: int = RENORMALISE_THRESHOLD
) -> Renormalised:
    """Give every referenced mapping its canonical hash, so that mappings that differ only in order become one.

    Nothing is renamed at `threshold` distinct references or fewer. A reference that the registry lacks keeps its name.
    The text of the first reference stays.
    """
    distinct = tuple(dict.fromkeys(refs))
    bare_registry = {bare_hash(key): text for key, text in registry.items()}
    if len(distinct) <= threshold:
        return Renormalised(renamed={}, registry=bare_registry)
    renamed: dict[str, str] = {}
    canonical: dict[str, str] = {}
    for ref in distinct:
        text = look_up(ref, registry)
        if text is None:
            continue
        name = mapping_hash(text)
        canonical.setdefault(name, text)
        if name != ref:
            renamed[ref] = name
    superseded = {bare_hash(ref) for ref in renamed}
    kept = {name: text for name, text in bare_registry.items() if name not in superseded}
    return Renormalised(renamed=renamed, registry={**kept, **canonical})


def renormalise_entries(
    entries: pa.Table, registry: Mapping[str, str], threshold: int = RENORMALISE_THRESHOLD
) -> tuple[pa.Table, dict[str, str]]:
    """Entries that refer to mappings by canonical hash, and the missing mappings of the registry (bare hash to text).

    For writers that write every entry of a table again. Old names stay in the registry, because retained version files
    may use them.
    """
    refs = [ref for ref in entries.column("doc_mapping_ref").unique().to_pylist() if ref is not None]
    renamed, new = renaming(refs, registry, threshold)
    return rename_refs(entries, renamed), new


def renaming(
    refs: Iterable[str], registry: Mapping[str, str], threshold: int = RENORMALISE_THRESHOLD
) -> tuple[Mapping[str, str], dict[str, str]]:
    """The references that get another name, and the missing mappings of the registry (bare hash to text)."""
    found = renormalise(refs, registry, threshold)
    return found.renamed, {name: text for name, text in found.registry.items() if look_up(name, registry) is None}


def rename_refs(entries: pa.Table, renamed: Mapping[str, str]) -> pa.Table:
    """The entries with new names for some references."""
    if not renamed:
        return entries
    column = entries.column("doc_mapping_ref")
    old = pa.array(renamed, pa.string())
    new = pa.array(renamed.values(), pa.string()).take(pc.index_in(column, value_set=old))
    place = entries.column_names.index("doc_mapping_ref")
    return entries.set_column(place, "doc_mapping_ref", pc.coalesce(new, column))
