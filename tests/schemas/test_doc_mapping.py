"""Names of document mappings: the values that real tables and the executed writer give, and what must not matter."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate_schemas.actions.doc_mapping import (
    MAX_MAPPING_CHARS,
    bare_hash,
    canonical_json,
    look_up,
    mapping_hash,
    registry_key,
    split_registry,
)
from headgate_schemas.errors import InvalidInput

_ID = '{"fast":true,"indexed":true,"name":"id","stored":true,"type":"i64"}'


def _text_field(name: str) -> str:
    return f'{{"fast":true,"indexed":true,"name":"{name}","stored":true,"tokenizer":"raw","type":"text"}}'


def _double_field(name: str) -> str:
    return f'{{"fast":true,"indexed":true,"name":"{name}","stored":true,"type":"f64"}}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"[{_ID},{_text_field('text')}]", "gC45RGOqJ_Grt0xH"),
        (f"[{_ID},{_text_field('text')},{_double_field('score')}]", "z7TwwZ-tDWGD-uX5"),
        (f"[{_ID},{_text_field('title')},{_text_field('body')},{_double_field('rating')}]", "qc10IusIgZa4R4u3"),
        ('{"b":2,"a":1}', "QyWM_3g_5wNtikMD"),
        ("[]", "T1PNoYwrqgwDVLtf"),
        ("not json", "fM-h-_OUDm8MA3XY"),
        ('[{"name":"café","type":"text"}]', "sY8hllEz7Qz36nQl"),
        ('[{"name":"caf\\u00e9","type":"text"}]', "sY8hllEz7Qz36nQl"),
        ('{"fields":[{"name":"title","type":"text"}]}', "j04SaOawekIojuDk"),
        ('{"x":1e10}', "fcubNAeh1LCzDQM6"),
    ],
)
def test_a_mapping_has_the_name_that_known_writers_give_it(text: str, expected: str) -> None:
    assert mapping_hash(text) == expected


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (' { "b" : [ 3 , 1 ] , "a" : null } ', '{"a":null,"b":[3,1]}'),
        # Items are sorted after their insides were, and stably.
        ('[{"name":"b"},{"name":"a","z":1,"k":2},{"name":"a","k":1}]', '[{"k":2,"name":"a","z":1},{"k":1,"name":"a"},{"name":"b"}]'),
        ('[{"name":"b"},{"other":"a"}]', '[{"name":"b"},{"other":"a"}]'),
        ('[{"name":"b"},3,{"name":"a"}]', '[{"name":"b"},3,{"name":"a"}]'),
        # A name that is no text sorts before every text.
        ('[{"name":"a"},{"name":9}]', '[{"name":9},{"name":"a"}]'),
        ('{"c":"\\u001F\\/\\u007f"}', '{"c":"\\u001f/\x7f"}'),
        # Keys sort by code point, not by UTF-16 unit.
        ('{"\U00010000":1,"\uffff":2}', '{"\uffff":2,"\U00010000":1}'),
        ('{"a":1,"a":2}', '{"a":2}'),
        ("[1.50, 1E5, 1e16, 1.5e-5, -1e-5, 1e-6, 1.5e300, -0.0, -0, 0]", "[1.5,100000.0,1e16,0.000015,-0.00001,1e-6,1.5e300,-0.0,-0.0,0]"),
        ("[18446744073709551615, -9223372036854775808]", "[18446744073709551615,-9223372036854775808]"),
        ("[18446744073709551616, 100000000000000000000]", "[1.8446744073709552e19,1e20]"),
    ],
)  # fmt: skip
def test_canonical_json_is_printed_as_the_strict_writer_prints_it(text: str, canonical: str) -> None:
    assert canonical_json(text) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "{} trailing",
        "[NaN]",
        "[Infinity]",
        "[1e400]",
        '["\\ud800"]',
        '{"\\udc00":1}',
        "[" * 128 + "]" * 128,
        "[" * 100_000,
        "",
        "[01]",
    ],
)
def test_what_the_strict_writer_can_not_read_is_hashed_as_it_is(text: str) -> None:
    assert canonical_json(text) is None
    assert len(mapping_hash(text)) == 16


def test_the_deepest_nesting_that_the_strict_writer_reads_is_canonical() -> None:
    assert canonical_json("[" * 127 + " " + "]" * 127) == "[" * 127 + "]" * 127


def test_a_text_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(InvalidInput, match="lone surrogate at character 1"):
        mapping_hash("x\ud800")


def test_a_mapping_beyond_the_bound_is_refused() -> None:
    with pytest.raises(InvalidInput, match="longer than"):
        mapping_hash(" " * (MAX_MAPPING_CHARS + 1))


_words = st.text(st.characters(codec="utf-8"), max_size=6)
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_words | st.just("name"), inner, max_size=4),
    max_leaves=12,
)


def _with_shuffled_keys(value: object, order: Any) -> object:
    if isinstance(value, dict):
        items = list(value.items())
        order.shuffle(items)
        return {key: _with_shuffled_keys(item, order) for key, item in items}
    if isinstance(value, list):
        return [_with_shuffled_keys(item, order) for item in value]
    return value


@given(_json, st.randoms(use_true_random=False), st.sampled_from([None, 2]))
def test_key_order_and_whitespace_never_change_the_name(value: object, order: Any, indent: int | None) -> None:
    other = json.dumps(_with_shuffled_keys(value, order), indent=indent)
    assert mapping_hash(other) == mapping_hash(json.dumps(value, ensure_ascii=False))


@given(st.lists(st.text(max_size=4), unique=True, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_named_fields_never_changes_the_name(names: list[str], order: Any) -> None:
    fields = [{"name": name, "type": "text"} for name in names]
    shuffled = order.sample(fields, len(fields))
    assert mapping_hash(json.dumps(shuffled)) == mapping_hash(json.dumps(fields))


@given(_json)
def test_canonical_json_is_its_own_canonical_form_and_means_the_same(value: object) -> None:
    canonical = canonical_json(json.dumps(value))
    assert canonical is not None
    assert canonical_json(canonical) == canonical


def test_a_registry_is_split_off_from_the_configuration() -> None:
    registry, rest = split_registry({"docMappingSchema.abc": "[]", "other": "x"})
    assert registry == {"abc": "[]"}
    assert rest == {"other": "x"}


@pytest.mark.parametrize("ref", ["abc", "docMappingSchema.abc"])
@pytest.mark.parametrize("key", ["abc", "docMappingSchema.abc"])
def test_a_mapping_is_found_by_bare_and_prefixed_names(ref: str, key: str) -> None:
    assert look_up(ref, {key: "[]"}) == "[]"


def test_a_mapping_that_is_not_there_is_not_found() -> None:
    assert look_up("abc", {"abd": "[]"}) is None


def test_a_registry_key_gives_its_hash_back() -> None:
    assert registry_key("abc") == "docMappingSchema.abc"
    assert bare_hash(registry_key("abc")) == "abc"
