"""Small tables of Milvus manifests, damaged: readers decode the manifest or refuse it by name.

Manifests carry no checksum, whoever wrote them, so that other values are nobody's fault; anything but an answer or a named
error is.
"""

import random
from functools import cache

from headgate_schemas.errors import HeadgateError
from headgate_table.milvus.format.encoding import encode_manifest
from headgate_table.milvus.format.manifest import ManifestForm
from headgate_table.milvus.table import MilvusTable
from support.ambient import START_MS, FakeAmbient
from support.damage.damages import Damage, changes
from support.damage.judge import Verdict
from support.damage.objects import Objects, objects_of
from support.milvus.random_manifests import random_manifest
from support.stores.memory import MemoryStore

KINDS = {f"milvus-{form.value}": form for form in ManifestForm}
_VERSIONS = (1, 2, 3)


@cache
def manifests_named(kind: str) -> Objects:
    draw = random.Random(kind)
    store = MemoryStore(FakeAmbient("milvus", START_MS))
    for version in _VERSIONS:
        store.put(f"_metadata/manifest-{version}.avro", encode_manifest(random_manifest(draw, KINDS[kind])))
    return objects_of(store, START_MS)


def judge_manifest(kind: str, damage: Damage) -> Verdict:
    objects = manifests_named(kind)
    after = objects.changed(changes(objects, damage))
    outcomes = set()
    problems = []
    for version in _VERSIONS:
        store, clock = after.store()
        table = MilvusTable(store, clock)
        try:
            manifest = table.snapshot(version).manifest
        except HeadgateError as error:
            outcomes.add("named")
            if "memory://test" not in str(error):
                problems.append(f"{kind} {damage}: the error names no object: {error}")
            continue
        sound, _ = objects.store()
        wanted = MilvusTable(sound, clock).snapshot(version).manifest
        outcomes.add("right" if manifest == wanted else "excused: Milvus manifests carry no checksum")
    store, clock = after.store()
    try:
        is_sound = MilvusTable(store, clock).verify(data_files=False).ok
    except HeadgateError:
        is_sound = False
    if "named" in outcomes and is_sound and damage.way != "remove":
        problems.append(f"{kind} {damage}: readers refuse it, and `verify` finds nothing")
    return Verdict(
        "broken" if problems else sorted(outcomes)[-1] if "named" not in outcomes else "named", tuple(problems)
    )
