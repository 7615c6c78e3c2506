"""When which table is read for the list: after commits soon, else now and then, and never much of the time."""

from concurrent.futures import Executor, Future
from typing import Any

import pytest

from headgate.page.proposal_preview import Glimpse
from headgate.page.shared_model import Board
from headgate.page.sweeping import CHANGED_S, FAILED_S, READERS, REST, SLOW_S, UNCHANGED_S, Sweeper
from headgate.page.table_reads import TableLooks
from headgate.page.table_rows import WAITING_AFTER_MS, TableFacts
from headgate_schemas.errors import HeadgateError
from headgate_schemas.messages.events import CommitEvent
from headgate_table.errors import TableNotFound
from headgate_table.store.settings import StoreSettings
from support.ambient import FakeAmbient

TABLE = "s3://lake/events"


class Later(Executor):
    """Work that ends when the test says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Future[Any]]] = []

    def submit(self, _: Any, /, uri: str) -> "Future[Any]":  # type: ignore[override]  # only this is submitted
        self.asked.append((uri, Future()))
        return self.asked[-1][1]


class World:
    def __init__(self, *tables: str) -> None:
        self.ambient = FakeAmbient()
        self.board = Board(self.ambient)
        self.executor = Later()
        looks = TableLooks(StoreSettings(), {}, self.ambient)
        self.sweeper = Sweeper(self.board, looks, self.executor, self.ambient, lambda _: False)
        for uri in tables:
            self.board.tell(lambda state, _, uri=uri: state.add_table(uri))  # type: ignore[misc]  # bound per turn

    def step(self) -> list[str]:
        """Which tables begin to be read now."""
        before = len(self.executor.asked)
        self.sweeper.step()
        return [uri for uri, _ in self.executor.asked[before:]]

    def answer(self, version: int, mirror: int | None = None) -> None:
        now_ms = self.ambient.now_ms()
        for _, work in self.executor.asked:
            if not work.done():
                work.set_result(TableFacts(version, 1, 1, 1, 0, 0.0, False, "avro-state", None, now_ms, mirror))

    def propose(self) -> None:
        self.board.tell(lambda state, now_ms: state.saw_proposal(Glimpse("a", TABLE, 0, 0, now_ms), now_ms))

    def commit(self, version: int) -> None:
        event = CommitEvent(
            table=TABLE,
            version=version,
            time=self.ambient.now_ms(),
            operation="Append",
            added=1,
            removed=0,
            added_bytes=1,
            removed_bytes=0,
        )
        self.board.tell(lambda state, now_ms: state.saw_event(event, now_ms))


def test_a_table_is_read_at_once_then_rests_until_it_may_have_changed() -> None:
    world = World(TABLE)
    assert world.step() == [TABLE]
    assert world.step() == []
    world.answer(3)
    assert world.step() == []
    world.ambient.advance(seconds=UNCHANGED_S - 0.1)
    assert world.step() == []
    world.ambient.advance(seconds=0.1)
    assert world.step() == [TABLE]


def test_after_a_commit_a_table_is_read_sooner() -> None:
    world = World(TABLE)
    world.step()
    world.answer(3)
    world.step()
    world.commit(4)
    world.ambient.advance(seconds=CHANGED_S - 0.1)
    assert world.step() == []
    world.ambient.advance(seconds=0.1)
    assert world.step() == [TABLE]


def test_a_table_whose_mirror_is_behind_is_read_sooner() -> None:
    world = World(TABLE)
    world.step()
    world.answer(3, mirror=2)
    world.step()
    world.ambient.advance(seconds=CHANGED_S)
    assert world.step() == [TABLE]
    world.answer(3, mirror=3)
    world.step()
    world.ambient.advance(seconds=CHANGED_S)
    assert world.step() == []


def test_a_table_that_takes_long_to_read_is_read_less_often() -> None:
    world = World(TABLE)
    world.step()
    world.ambient.advance(seconds=10)
    world.answer(3)
    world.step()
    world.commit(4)
    world.ambient.advance(seconds=10 * REST - 0.1)
    assert world.step() == []
    world.ambient.advance(seconds=0.1)
    assert world.step() == [TABLE]


def test_so_many_tables_are_read_at_once_and_the_others_come_after_them() -> None:
    tables = [f"s3://lake/{number}" for number in range(READERS + 2)]
    world = World(*tables)
    assert world.step() == tables[:READERS]
    world.answer(1)
    assert world.step() == tables[READERS:]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (HeadgateError("the store is gone"), "the store is gone"),
        (KeyError("a defect"), "KeyError: 'a defect'"),
        (RuntimeError(), "RuntimeError: "),
    ],
)
def test_what_reading_failed_by_is_told_and_the_table_is_tried_again(error: Exception, said: str) -> None:
    world = World(TABLE)
    world.step()
    world.executor.asked[0][1].set_exception(error)
    world.step()
    [row] = world.board.tell(lambda state, now_ms: state.picture(now_ms)["tables"])
    assert row["trouble"] == said
    world.ambient.advance(seconds=FAILED_S - 0.1)
    assert world.step() == []
    world.ambient.advance(seconds=0.1)
    assert world.step() == [TABLE]


def test_a_table_that_is_gone_is_not_told_to_be_made() -> None:
    """A disk that is not mounted looks like no table."""
    world = World(TABLE)
    missing = TableNotFound("there is no table; make one")
    for said in ("there is no table; make one", "where version 3 was: is its disk mounted?"):
        world.step()
        world.executor.asked[-1][1].set_exception(missing)
        world.step()
        [row] = world.board.tell(lambda state, now_ms: state.picture(now_ms)["tables"])
        assert said in row["trouble"]
        world.commit(3)
        world.ambient.advance(seconds=FAILED_S)


def test_a_table_that_could_not_be_read_for_long_is_tried_again_soon() -> None:
    """Its store is back perhaps. Break: let it rest as one that was read."""
    world = World(TABLE)
    world.step()
    world.ambient.advance(seconds=60)
    world.executor.asked[0][1].set_exception(HeadgateError("the store didn't answer"))
    world.step()
    world.ambient.advance(seconds=59)
    assert world.step() == []
    world.ambient.advance(seconds=1)
    assert world.step() == [TABLE]
    world.answer(3)
    world.step()
    world.ambient.advance(seconds=UNCHANGED_S - 0.1)
    assert world.step() == []


def test_a_table_whose_proposals_wait_for_long_is_read_at_once_since_its_store_may_be_why() -> None:
    world = World(TABLE)
    world.step()
    world.answer(3)
    world.step()
    world.propose()
    world.ambient.advance(seconds=CHANGED_S)
    assert world.step() == []
    world.ambient.advance(seconds=(WAITING_AFTER_MS + 1) / 1000 - CHANGED_S)
    world.board.pulse()
    assert world.step() == [TABLE]


def test_a_table_whose_proposals_wait_for_long_is_read_again_soon_though_its_last_reading_took_long() -> None:
    """As on a busy machine. Break: let it rest as long as a table that is well."""
    world = World(TABLE)
    world.step()
    world.ambient.advance(seconds=SLOW_S - 1)
    world.answer(3)
    world.step()
    world.propose()
    world.ambient.advance(seconds=(WAITING_AFTER_MS + 1) / 1000)
    world.board.pulse()
    world.ambient.advance(seconds=SLOW_S)
    assert world.step() == [TABLE]


def test_a_reading_that_hangs_is_said_so_until_it_ends() -> None:
    world = World(TABLE)
    world.step()
    world.ambient.advance(seconds=SLOW_S + 1)
    world.step()
    [row] = world.board.tell(lambda state, now_ms: state.picture(now_ms)["tables"])
    assert row["trouble"] == "its store has not answered for more than 15 s"
    world.answer(1)
    world.step()
    [row] = world.board.tell(lambda state, now_ms: state.picture(now_ms)["tables"])
    assert (row["trouble"], row["files"]) == ("", 1)
