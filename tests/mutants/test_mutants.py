"""Deliberate bugs that the tests must notice. All of them: `make mutants`; here, that each still applies, and one for all."""

import ast
from collections import Counter

import pytest

from support.damage.run import ALL_KINDS
from support.models.files import model_files
from support.mutants.catalogue import MUTANTS
from support.mutants.mutant import Mutant, Rule
from support.mutants.trial import ROOMS, ROOT, copied_tree, killed_by_tests, tried

REPRESENTATIVE = "same-seq-again"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_applies_in_exactly_one_place_and_can_be_parsed(mutant: Mutant) -> None:
    assert mutant.file.partition("/")[0] in ROOMS
    changed = mutant.applied((ROOT / mutant.file).read_text(encoding="utf-8"))
    ast.parse(changed, mutant.file)


def test_every_promise_is_broken_by_somebody() -> None:
    assert {mutant.rule for mutant in MUTANTS} == set(Rule)


def test_every_mutant_has_its_own_name_and_somebody_who_may_notice() -> None:
    twice = [name for name, count in Counter(mutant.name for mutant in MUTANTS).items() if count > 1]
    assert not twice
    assert not [mutant.name for mutant in MUTANTS if not mutant.tests and not mutant.seeds.bound]
    assert not [test for mutant in MUTANTS for test in mutant.tests if not (ROOT / test.partition("::")[0]).exists()]


def test_what_is_named_of_a_generator_is_there() -> None:
    named = {(mutant.seeds.kind, mutant.seeds.of) for mutant in MUTANTS if mutant.seeds.of}
    assert named <= {*(("models", file) for file in model_files()), *(("damage", kind) for kind in ALL_KINDS)}
    assert ("models", "") not in {(mutant.seeds.kind, mutant.seeds.of) for mutant in MUTANTS}


def test_a_mutant_is_killed_by_the_test_that_stands_for_its_promise() -> None:
    (mutant,) = (mutant for mutant in MUTANTS if mutant.name == REPRESENTATIVE)
    verdict = tried(mutant, seeds=0)
    assert verdict.killer.startswith(mutant.tests[0])
    with copied_tree() as root:
        assert killed_by_tests(root, mutant.tests) == ""
