"""Manifests from a seed, for what needs many at once and the same ones again: the judge, and the fuzzer's corpus."""

import random

from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile, DeltaLog, Index, LobFile, Stat
from headgate_table.milvus.format.manifest import Manifest, ManifestForm

_LETTERS = "abcXYZ019-_.äß中\U0001f600 "


def random_manifest(draw: random.Random, form: ManifestForm) -> Manifest:
    """Anything that the form can hold; texts without slashes."""
    version = form.version

    def text(first: str = "") -> str:
        return first + "".join(draw.choices(_LETTERS, k=draw.randint(0 if first else 1, 8)))

    def long() -> int:
        return draw.choice([0, 1, -1, draw.randint(0, 10**6), draw.randint(-(2**63), 2**63 - 1), 2**63 - 1, -(2**63)])

    def integer() -> int:
        return draw.choice([0, 1, draw.randint(-(2**31), 2**31 - 1)])

    def properties(since: int) -> dict[str, str]:
        return {text(): text() for _ in range(draw.randint(0, 3))} if version >= since else {}

    def texts(first: str = "") -> tuple[str, ...]:
        return tuple(text(first) for _ in range(draw.randint(0, 3)))

    def file() -> ColumnGroupFile:
        metadata = draw.randbytes(draw.randint(0, 5)) if version < 4 else b""
        return ColumnGroupFile(text("f"), long(), long(), metadata, properties(4))

    def index() -> Index:
        later = (text(), *(long() for _ in range(7)), *(integer() for _ in range(3)), texts()) if version >= 6 else ()
        return Index(text(), text(), text(), properties(2), *later)  # type: ignore[arg-type]  # in the order of its fields

    def some(low: int, high: int) -> range:
        return range(draw.randint(low, high))

    return Manifest(
        tuple(ColumnGroup(texts(), tuple(file() for _ in some(0, 4)), text()) for _ in some(0, 3)),
        tuple(DeltaLog(text("d"), long(), draw.choice([0, 0, 1, 2])) for _ in some(0, 3)),
        {text(): Stat(texts("s"), properties(3)) for _ in some(0, 3)},
        tuple(index() for _ in some(0, 2)) if version >= 2 else (),
        tuple(LobFile(text(), long(), long(), long(), long()) for _ in some(0, 2)) if version >= 5 else (),
        form,
    )


def random_manifests(seed: int, count: int, form: ManifestForm = ManifestForm.RAW_V1) -> list[Manifest]:
    draw = random.Random(seed)
    return [random_manifest(draw, form) for _ in range(count)]
