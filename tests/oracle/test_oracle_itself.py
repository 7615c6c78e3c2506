"""The oracle can be believed: it shares no code with the product, repeats itself, and notices what it is there to notice."""

import ast
import math
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import support.oracle
from support.oracle.failure import Disagreement
from support.oracle.history import Played, play, shrink
from support.oracle.judge import judge
from support.oracle.model import DataFile, Model
from support.oracle.values.cells import Cell, arrow_array, cells_of, key_of
from support.oracle.values.columns import Column, Kind, draw_table
from support.oracle.values.conditions import Condition, draw_condition
from support.oracle.values.draws import draws
from support.oracle.values.pools import draw_cell
from support.oracle.world import new_world

FOLDER = Path(support.oracle.__file__).parent
WITHOUT_THE_PRODUCT = ("columns", "pools", "cells", "conditions", "model", "engines", "failure")


@pytest.mark.parametrize("name", WITHOUT_THE_PRODUCT)
def test_the_model_imports_nothing_of_the_product(name: str) -> None:
    [file] = FOLDER.rglob(f"{name}.py")
    tree = ast.parse(file.read_text(encoding="utf-8"))
    imported = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert not [module for module in imported if "headgate" in module]
    ours = {module.rpartition(".")[2] for module in imported if module.startswith("support.oracle.")}
    assert ours <= set(WITHOUT_THE_PRODUCT)


def test_a_seed_plays_the_same_history_again() -> None:
    first, second = play(3), play(3)
    assert (first.steps, first.done, first.kind) == (second.steps, second.done, second.kind)


@pytest.mark.parametrize("seed", range(20))
def test_cells_survive_arrow(seed: int) -> None:
    random = draws(seed)
    for column in draw_table(random)[0]:
        cells = [draw_cell(random, column) for _ in range(20)]
        assert list(map(key_of, cells_of(arrow_array(cells, column.arrow)))) == list(map(key_of, cells))


def test_a_cell_is_told_from_its_neighbours_to_the_bit() -> None:
    cells: list[Cell] = [0.0, -0.0, math.nan, 1, 1.0, True, "1", b"1", None, Decimal("0.1"), 0.1, (1,), (1.0,)]
    assert len({key_of(cell) for cell in cells}) == len(cells)
    assert key_of(math.nan) == key_of(-math.nan)


X = Column("x", Kind.DOUBLE)


@pytest.mark.parametrize("cell", [math.nan, 0.0, -0.0, math.inf, None])
def test_a_predicate_and_its_negation_are_never_both_true(cell: float | None) -> None:
    random = draws(7)
    for _ in range(200):
        condition = draw_condition(random, [X], {"x": [cell, 0.0, math.nan]})
        truth = condition.truth({"x": cell})
        assert truth in (True, False, None)
        if cell is not None:
            assert truth is not None


def test_the_model_restores_what_a_version_held() -> None:
    model = Model((X,), ())
    model.upkeep(0, ())
    model.knows([DataFile("a", {"x": [1.0]}, 1, {})])
    model.committed(1, model.append([model.files["a"]]))
    model.committed(2, model.delete_paths(["a"]))
    assert model.restore(1).live == {"a"}
    assert model.append([model.files["a"]]).must, "its path is in use"
    everything = Condition("TRUE", frozenset(), lambda row: True)
    assert model.overwrite([], everything).live == frozenset()


def test_a_row_too_few_and_a_file_too_many_are_noticed() -> None:
    from support.oracle import steps

    with new_world(draws(1), (Column("id", Kind.LONG), X), (), {}, coordinated=False) as world:
        steps.append(draws(2), world, "one")
        judge(draws(3), world)
        path = next(iter(world.model.files))
        known = world.model.files[path]
        world.model.files[path] = DataFile(
            path, {"id": [1, *known.columns["id"]], "x": [None, *known.columns["x"]]}, known.count + 1, {}
        )
        with pytest.raises(Disagreement):
            judge(draws(3), world)
        world.model.files[path] = known
        judge(draws(3), world)
        world.model.upkeep(world.model.newest, ())
        with pytest.raises(Disagreement, match="paths"):
            judge(draws(3), world)


def test_a_failure_is_shrunk_to_steps_that_still_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    from support.oracle import history

    def pretend(seed: int, only: list[int], spark: object = None) -> Played:
        return Played(seed, tuple(only), kind="rows" if {2, 5} <= set(only) else "")

    monkeypatch.setattr(history, "play", pretend)
    assert shrink(Played(9, tuple(range(6)), kind="rows")).steps == (2, 5)


def test_the_program_tells_what_it_tried_and_how_to_replay_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from support.oracle import program

    assert program.main(["--seeds=1", "--first=5", "--jobs=1"]) == 0
    assert "rows compared" in capsys.readouterr().out
    monkeypatch.setattr(program, "play", lambda *asked: Played(asked[0], (0, 3), kind="rows", failure="rows: none"))
    monkeypatch.setattr(program, "shrink", lambda played: played)
    assert program.main(["--seeds=1", "--first=5", "--jobs=1"]) == 1
    assert "replay: make oracle SEEDS=1 FIRST=5 STEPS=0,3" in capsys.readouterr().out


def test_arrow_knows_every_type_of_the_oracle() -> None:
    assert all(isinstance(Column("x", kind, 9, 2).arrow, pa.DataType) for kind in Kind)
