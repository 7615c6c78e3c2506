"""A fixed slice of the damage generator; `tests/tooling/damage.py` runs as much of it as there is time for."""

from itertools import islice

import pytest

from support.damage.damages import Damage, damages, name_at, parse_damage
from support.damage.excuses import excuse
from support.damage.judge import truth_of
from support.damage.kinds import KINDS, objects_named
from support.damage.run import ALL_KINDS, Tally, drawn, judged, run

CASES = 12


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_damage_is_answered_rightly_or_named(kind: str) -> None:
    tally = Tally()
    run(kind, list(islice(drawn(kind, seed=1), CASES)), tally)
    assert tally.problems == []
    assert tally.cases == CASES


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS if kind.is_ours])
def test_every_way_to_damage_a_whole_object_of_ours_is_answered_rightly_or_named(kind: str) -> None:
    """Nothing is excused there but a newest version that is gone without a trace."""
    whole = [damage for damage in damages(objects_named(kind)) if damage.way in ("empty", "remove")]
    verdicts = [judged(kind, damage) for damage in whole]
    assert [problem for verdict in verdicts for problem in verdict.problems] == []
    excused = {verdict.outcome for verdict in verdicts if verdict.outcome.startswith("excused")}
    assert excused <= {"excused: the newest version is gone without a trace"}


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        ("ours-states", "name:_transaction_log/_last_checkpoint:956:"),
        ("rust", "name:_transaction_log/manifests/manifest-cc158d079f4b72e1.avro:18703:"),
    ],
    ids=["the pointer's format", "a column that no cleaning needs"],
)
def test_what_was_answered_wrongly_once_is_answered_rightly(kind: str, damage: str) -> None:
    assert judged(kind, parse_damage(damage)).problems == ()


def test_a_case_can_be_told_in_a_word_and_made_again() -> None:
    objects = objects_named("ours-states")
    for damage in islice(damages(objects), 0, 100_000, 997):
        assert parse_damage(str(damage)) == damage


def test_what_carries_a_checksum_is_never_excused() -> None:
    objects = truth_of("ours-states-plain").objects
    for damage in islice(damages(objects), 0, None, 1009):
        if damage.way != "remove" and not damage.key.endswith("_last_checkpoint"):
            assert excuse(objects, damage, objects) is None, str(damage)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("scala-plain", "tombstones"), ("scala-json-plain", "add"), ("scala-json-plain", "path"), ("ours-parts", "parts")],
)
def test_names_of_fields_and_of_actions_are_damaged(kind: str, name: str) -> None:
    objects = objects_named(kind)
    assert name in {name_at(objects, damage) for damage in damages(objects)}


def test_a_checkpoint_that_holds_its_name_is_not_excused_elsewhere() -> None:
    objects = objects_named("ours-checkpoints")
    moved = [
        damage for damage in damages(objects) if damage.way in ("swap", "copy") and "checkpoint.json" in damage.key
    ]
    assert moved
    assert {excuse(objects, damage, objects) for damage in moved} == {None}


def test_a_damaged_name_of_an_action_is_no_value() -> None:
    objects = objects_named("scala-json-plain")
    key = next(key for key in objects.log_keys() if objects.data(key).startswith(b'{"add"'))
    damage = Damage("flip", key, 8 * 2)
    after = objects.changed({key: objects.data(key).replace(b'{"add"', b'{"`dd"', 1)})
    assert excuse(objects, damage, after) is None
