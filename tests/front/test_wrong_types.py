"""What programs give to public functions in a wrong type is refused by name: no accident of Python comes out, and nothing is guessed."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy
import pyarrow as pa
import pytest

import headgate
from headgate import HeadgateError, InvalidInput, Producer, Snapshot, Table, Ticket
from headgate.spark import HeadgateTable, read, read_stream, sink
from headgate_schemas.arguments import address, checked, time, whole
from headgate_schemas.milvus import ColumnGroup
from headgate_table.store.local.store import LocalStore
from support.ambient import FakeAmbient
from support.cleaning import one_thread
from support.stores.memory import MemoryStore
from support.tables import add_file, new_table

NAN = float("nan")
POOL: tuple[Any, ...] = (
    None, True, False, 0, -1, 7, 2**70, 1.0, 1.5, NAN, float("inf"), "", "1", "text", "7d", b"bytes", object(), int, [], [1],
    [None], ["a"], [b"a"], (1, 2), {"a": 1}, {1: "a"}, {"a": "b"}, set(), {1}, Path("some"), lambda: 1,
)  # fmt: skip
"""Of every type, whatever is wanted."""

PARTS = {"self", "cls", "ambient", "resources", "commit", "store", "reader", "log", "read_parts", "terms", "more"}
"""Parts of Headgate that are handed in, which no user makes up; and what has tests of its own."""

SOUND: dict[str, Any] = {
    "uri": "made",
    "schema": "id BIGINT",
    "files": (),
    "adds": (),
    "removes": ("a",),
    "where": "region = 'eu'",
    "paths": ("a",),
    "version": 1,
    "since": 0,
    "operation": None,
    "bus": "sqlite:bus.db",
    "table": "lake/t",
    "source_log": "lost/_transaction_log",
    "target_log": "new/_transaction_log",
    "statement": "DESCRIBE HEADGATE STATE 'here'",
    "proposal_id": "id",
    "updates": None,
    "swap": None,
    "skips": (),
    "partition_by": (),
    "rows": pa.table({"id": [1], "region": ["eu"]}),
}
"""What the other arguments are meanwhile."""


def a_table() -> Table:
    ambient = FakeAmbient()
    made = new_table(MemoryStore(ambient), "region", ambient=ambient)
    table = Table(made.store, ambient, one_thread())
    table.append([add_file("a", region="eu")])
    return table


def a_milvus_table() -> Table:
    from headgate_table.milvus import Transaction

    store = MemoryStore(FakeAmbient())
    transaction = Transaction.open(store)
    transaction.append_files([ColumnGroup(("id",), (), "parquet")])
    transaction.commit()
    table = Table(store, FakeAmbient(), one_thread())
    table._find_format()
    assert not table.has_log
    return table


@contextmanager
def a_producer(folder: Path) -> Iterator[Producer]:
    with Producer(f"sqlite:{folder}/bus.db", f"{folder}/t", threads=False, answer_within_s=0.01) as producer:
        yield producer


def methods(of: type) -> list[tuple[str, Callable[..., Any]]]:
    """The public methods that take something."""
    found = [(name, each) for name, each in inspect.getmembers(of) if not name.startswith("_") and callable(each)]
    return [(name, each) for name, each in found if arguments_of(each)]


def arguments_of(function: Callable[..., Any]) -> list[str]:
    return [
        name
        for name, each in inspect.signature(function).parameters.items()
        if name not in PARTS and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]


def sound_arguments(function: Callable[..., Any]) -> dict[str, Any]:
    needed = [
        name for name, each in inspect.signature(function).parameters.items() if each.default is inspect.Parameter.empty
    ]
    return {name: SOUND[name] for name in needed if name in arguments_of(function)}


def tried(call: Callable[..., Any], given: Mapping[str, Any]) -> BaseException | None:
    """What came out beside a result, which is read to its end."""
    try:
        found = call(**given)
        if inspect.isgenerator(found) or isinstance(found, Iterator):
            for _ in zip(found, range(3), strict=False):
                pass
    except HeadgateError as error:
        return error
    except Exception as error:  # noqa: BLE001  # whatever comes out is what is looked for
        return error
    return None


def raw(call: Callable[..., Any], function: Callable[..., Any], name: str) -> list[str]:
    """The accidents of all wrong values for each argument."""
    found = []
    for argument in arguments_of(function):
        for value in POOL:
            error = tried(call, sound_arguments(function) | {argument: value})
            if error is not None and not isinstance(error, HeadgateError):
                found.append(f"{name}({argument}={value!r}): {type(error).__name__} {error}")
    return found


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names in the pool are taken for folders."""
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")


@pytest.mark.parametrize("name", [name for name, _ in methods(Table)])
def test_no_accident_comes_out_of_a_table(name: str) -> None:
    table = a_table()
    assert raw(getattr(table, name), getattr(table, name), name) == []


@pytest.mark.parametrize("name", [name for name, _ in methods(Snapshot)])
def test_no_accident_comes_out_of_a_snapshot(name: str) -> None:
    method = getattr(a_table().snapshot(), name)
    assert raw(method, method, name) == []


@pytest.mark.parametrize("name", [name for name, _ in methods(Table) if name not in ("open", "create")])
def test_no_accident_comes_out_of_a_milvus_table(name: str) -> None:
    method = getattr(a_milvus_table(), name)
    assert raw(method, method, name) == []


TERMS = ("based_on", "reads", "isolation", "writer", "proposal_id", "created")


@pytest.mark.parametrize("name", [name for name, _ in methods(Producer) if name != "close"])
def test_no_accident_comes_out_of_a_producer(name: str, tmp_path: Path) -> None:
    with a_producer(tmp_path) as producer:
        method = getattr(producer, name)
        found = raw(method, method, name)
        if name != "outcome":
            for term in TERMS:
                for value in POOL:
                    error = tried(method, sound_arguments(method) | {"based_on": 0} | {term: value})
                    if error is not None and not isinstance(error, HeadgateError):
                        found.append(f"{name}({term}={value!r}): {type(error).__name__} {error}")
        assert found == []


def test_no_accident_comes_out_of_making_or_closing_a_producer() -> None:
    def made(**given: Any) -> None:
        Producer(**{"threads": False, **given}).close(0.0)

    assert raw(made, Producer, "Producer") == []
    for value in POOL:
        with Producer("sqlite:bus.db", "t", threads=False) as producer:
            error = tried(producer.close, {"timeout_s": value} if value not in (None, 7, float("inf")) else {})
        assert error is None or isinstance(error, HeadgateError), f"{value!r}: {error!r}"


def test_no_accident_comes_out_of_a_ticket(tmp_path: Path) -> None:
    with a_producer(tmp_path) as producer:
        ticket = producer.delete(paths=["a"])
        assert raw(ticket.wait, Ticket.wait, "wait") == []


FUNCTIONS: tuple[Callable[..., Any], ...] = (headgate.sql, headgate.repair_log, headgate.rebuild_log, headgate.write)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: str(each.__name__))
def test_no_accident_comes_out_of_a_function_of_the_module(function: Callable[..., Any]) -> None:
    assert raw(function, function, function.__name__) == []


def test_no_accident_comes_out_of_committing() -> None:
    def committing(**given: Any) -> None:
        with headgate.committing(**given):
            pass

    assert raw(committing, headgate.committing, "committing") == []


SPARK: dict[str, tuple[Callable[..., Any], Mapping[str, Any]]] = {
    "read": (read, {"spark": None, "uri": "t"}),
    "read_stream": (read_stream, {"spark": None}),
    "sink": (sink, {}),
    "history": (HeadgateTable.history, {"self": None}),
    "toDF": (HeadgateTable.toDF, {"self": None}),
    "files": (HeadgateTable.files, {"self": None}),
    "changes": (HeadgateTable.changes, {"self": None}),
    "restoreToVersion": (HeadgateTable.restoreToVersion, {"self": None}),
    "vacuum": (HeadgateTable.vacuum, {"self": None}),
}
NUMBERS = ("version", "since", "until", "limit", "retentionHours")


@pytest.mark.parametrize("name", SPARK)
@pytest.mark.parametrize("value", ["1", True, NAN, b"1", [1]])
def test_functions_for_spark_refuse_wrong_types_before_they_ask_the_session(name: str, value: object) -> None:
    function, given = SPARK[name]
    named = [each for each in inspect.signature(function).parameters if each in NUMBERS]
    for argument in named or ["uri"]:
        if not named and isinstance(value, str):
            continue
        others = {each: 0 for each in ("since", "version") if each in named and each != argument}
        with pytest.raises(InvalidInput, match=f"^{argument} is "):
            function(**given, **others, **{argument: value})


WRONG_NUMBERS = ("1", True, 1.0, 1.5, NAN, b"1", [1], {"a": 1})


@pytest.mark.parametrize("value", WRONG_NUMBERS)
@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("snapshot", "version"), ("changes", "since"), ("changes", "until"), ("changes_by_version", "since"),
        ("added_after", "version"), ("history", "limit"), ("restore", "version"), ("purge", "older_than_hours"),
        ("purge", "log_retention_hours"),
    ],
)  # fmt: skip
def test_what_is_no_whole_number_is_refused_by_name(name: str, argument: str, value: object) -> None:
    method = getattr(a_table(), name)
    given = sound_arguments(method) | {"since": 0} if name == "changes" else sound_arguments(method)
    with pytest.raises(InvalidInput, match=rf"^{argument} is .*\({type(value).__name__}\); give a whole number"):
        method(**given | {argument: value})
    if name in ("snapshot", "restore"):
        with pytest.raises(InvalidInput, match=rf"^version is .*\({type(value).__name__}\)"):
            getattr(a_milvus_table() if name == "snapshot" else a_table(), name)(version=value)


def test_a_list_that_is_a_text_or_holds_something_else_is_refused_by_name() -> None:
    table = a_table()
    for given in ("a", b"a", {"a": "b"}, 5):
        with pytest.raises(InvalidInput, match=r"^files is .* give a list of DataFile"):
            table.append(given)  # type: ignore[arg-type]  # as a program without types does
        with pytest.raises(InvalidInput, match=r"^paths is .* give a list of texts"):
            table.delete(paths=given)  # type: ignore[arg-type]  # the same
    with pytest.raises(InvalidInput, match=r"^files holds 'a' \(str\); each of them must be a DataFile"):
        table.append(["a"])  # type: ignore[list-item]  # the same
    with pytest.raises(InvalidInput, match=r"^files is None"):
        table.append(None)  # type: ignore[arg-type]  # the same


def test_a_generator_of_files_is_taken_once() -> None:
    table = a_table()
    table.append(add_file(name, region="eu") for name in "bc")  # type: ignore[arg-type]  # wider than what is promised
    assert len(table.snapshot().paths()) == 3


def test_negative_versions_are_not_called_cleaned() -> None:
    with pytest.raises(HeadgateError, match="has no version -1: versions are counted from 0; retained: 0 to 1"):
        a_table().snapshot(version=-1)


def test_paths_of_the_file_system_are_addresses(tmp_path: Path) -> None:
    Table.create(tmp_path / "t", "id BIGINT")
    assert Table.open(tmp_path / "t").version == 0
    assert isinstance(Table.open(tmp_path / "t").store, LocalStore)
    with pytest.raises(InvalidInput, match=r"^uri is b'x'"):
        Table.open(b"x")  # type: ignore[arg-type]  # as a program without types does


def test_a_rule_leaves_none_alone_only_where_it_is_the_default() -> None:
    @checked(one=whole, other=whole)
    def function(one: int, other: int | None = None) -> tuple[int, int | None]:
        return one, other

    assert function(1) == (1, None)
    assert function(one=1, other=None) == (1, None)
    with pytest.raises(InvalidInput, match=r"^one is None"):
        function(None)  # type: ignore[arg-type]  # as a program without types does


def test_numbers_of_other_libraries_are_numbers_and_become_ours() -> None:
    assert type(whole("n", numpy.int64(7))) is int
    assert type(time("n", numpy.int64(7))) is int
    assert address("n", Path("a")) == "a"
    with pytest.raises(InvalidInput):
        whole("n", numpy.bool_(True))
