"""The threat model names tests for what it says holds, and they are there."""

import re

from support.docs.page_blocks import DOCS, ROOT

PAGE = (DOCS / "threat-model.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
ATTACKS = [
    row
    for row in PAGE.partition("## Attacks and defences")[2].partition("## What is not")[0].splitlines()
    if "`tests/" in row
]


def test_every_test_that_is_named_exists() -> None:
    missing = [
        f"{path}::{name}"
        for path, name in NAMED
        if not (ROOT / path).is_file() or f"def {name}(" not in (ROOT / path).read_text(encoding="utf-8")
    ]
    assert missing == []


def test_every_attack_names_a_test() -> None:
    rows = [
        row
        for row in PAGE.partition("## Attacks and defences")[2].partition("## What is not")[0].splitlines()
        if row.startswith("| ") and not row.startswith(("| ---", "| attack |"))
    ]
    assert rows == ATTACKS
    assert len(rows) > 15
