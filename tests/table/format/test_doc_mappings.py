"""Inline mappings become references, references become mappings, and mappings that differ only in order become one."""

import json
from dataclasses import replace

import pytest

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.actions.doc_mapping import look_up, mapping_hash
from headgate_table.indextables.format.doc_mappings import deduplicate, renormalise

_TITLE = '[{"name":"title","type":"text"},{"name":"id","type":"i64"}]'
_TITLE_REORDERED = '[{"type":"i64","name":"id"},{"type":"text","name":"title"}]'
_BODY = '[{"name":"body","type":"text"}]'


def _add(path: str, mapping: str | None = None, ref: str | None = None) -> AddFile:
    return AddFile(path, {}, 1, 2, doc_mapping_json=mapping, doc_mapping_ref=ref)


def test_an_inline_mapping_becomes_a_reference() -> None:
    result = deduplicate([_add("a", _TITLE)], {})
    assert result.adds == (_add("a", ref=mapping_hash(_TITLE)),)
    assert result.new_entries == {mapping_hash(_TITLE): _TITLE}


def test_mappings_that_differ_only_in_order_share_the_text_of_the_first() -> None:
    result = deduplicate([_add("a", _TITLE), _add("b", _TITLE_REORDERED), _add("c", _BODY)], {})
    assert result.new_entries == {mapping_hash(_TITLE): _TITLE, mapping_hash(_BODY): _BODY}
    assert [add.doc_mapping_ref for add in result.adds] == [mapping_hash(_TITLE)] * 2 + [mapping_hash(_BODY)]


@pytest.mark.parametrize("prefix", ["", "docMappingSchema."])
def test_a_mapping_that_the_registry_holds_is_not_new(prefix: str) -> None:
    result = deduplicate([_add("a", _TITLE_REORDERED)], {prefix + mapping_hash(_TITLE): _TITLE})
    assert result.new_entries == {}
    assert result.adds[0].doc_mapping_ref == mapping_hash(_TITLE)


def test_a_file_without_an_inline_mapping_is_left_alone() -> None:
    adds = [_add("a"), _add("b", ref="known")]
    assert deduplicate(adds, {}).adds == tuple(adds)


def test_an_inline_mapping_wins_over_an_old_reference() -> None:
    result = deduplicate([_add("a", _TITLE, ref="stale")], {})
    assert result.adds[0].doc_mapping_ref == mapping_hash(_TITLE)


def test_what_was_deduplicated_is_found_under_its_reference() -> None:
    result = deduplicate([_add("a", _TITLE), _add("b", _BODY)], {})
    found = [look_up(add.doc_mapping_ref or "", result.new_entries) for add in result.adds]
    assert found == [_TITLE, _BODY]


def _orderings(count: int) -> list[str]:
    """Texts of one mapping that differ only in whitespace."""
    return [json.dumps(json.loads(_TITLE), indent=indent) for indent in range(count)]


def test_more_than_five_references_are_consolidated_to_the_first_text() -> None:
    registry = {f"old{number}": text for number, text in enumerate(_orderings(6))}
    result = renormalise(registry, registry)
    assert result.renamed == {ref: mapping_hash(_TITLE) for ref in registry}
    assert result.registry == {mapping_hash(_TITLE): registry["old0"]}


def test_five_references_are_left_alone() -> None:
    registry = {f"old{number}": text for number, text in enumerate(_orderings(5))}
    result = renormalise([*registry, *registry], registry)
    assert result.renamed == {}
    assert result.registry == registry


def test_a_canonical_reference_keeps_its_name_when_others_join_it() -> None:
    name = mapping_hash(_TITLE)
    result = renormalise(["old", name, "old"], {"docMappingSchema.old": _TITLE_REORDERED, name: _TITLE}, threshold=1)
    assert result.renamed == {"old": name}
    assert result.registry == {name: _TITLE_REORDERED}


def test_mappings_without_a_reference_here_and_references_without_a_mapping_survive() -> None:
    result = renormalise(["old", "lost"], {"old": _TITLE, "elsewhere": _BODY}, threshold=0)
    assert result.renamed == {"old": mapping_hash(_TITLE)}
    assert result.registry == {mapping_hash(_TITLE): _TITLE, "elsewhere": _BODY}


def test_every_renamed_reference_still_means_the_same_mapping() -> None:
    adds = [_add(str(number), ref=f"r{number}") for number in range(7)]
    registry = {f"r{number}": _BODY if number % 2 else _TITLE_REORDERED for number in range(7)}
    result = renormalise((add.doc_mapping_ref or "" for add in adds), registry)
    for add in adds:
        ref = add.doc_mapping_ref or ""
        moved = replace(add, doc_mapping_ref=result.renamed.get(ref, ref))
        assert mapping_hash(look_up(moved.doc_mapping_ref or "", result.registry) or "") == mapping_hash(registry[ref])
