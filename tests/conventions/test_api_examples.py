"""The examples in the docstrings of `import headgate` run, each in an empty folder, and everything public has one."""

import doctest
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import headgate

PROPERTIES = (property, cached_property)
OPTIONS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
SHOWN_ELSEWHERE = {
    "BatchJob.run": "a whole job is in docs/guide-kafka-batch-job.md, which tests run",
    "KafkaRecords": "it needs a broker; the same guide has one",
    "KafkaRecords.close": "see KafkaRecords",
    "KafkaRecords.extent": "see KafkaRecords",
    "KafkaRecords.identity": "see KafkaRecords",
    "KafkaRecords.partitions": "see KafkaRecords",
    "KafkaRecords.read": "see KafkaRecords",
}
"""Functions and classes without an example, and why. Errors need none: most say by their name when they are raised."""


def public() -> Iterator[tuple[str, Any]]:
    """Classes, functions and methods, by their names below `headgate`."""
    for name in headgate.__all__:
        found = getattr(headgate, name)
        if inspect.isclass(found):
            yield name, found
            for member, value in inspect.getmembers(found):
                is_own = not member.startswith("_") and not hasattr(BaseException, member)
                if is_own and (inspect.isroutine(value) or isinstance(value, PROPERTIES)):
                    yield f"{name}.{member}", value
        elif inspect.isroutine(found):
            yield name, found


PUBLIC = dict(public())


def examples_of(name: str) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(inspect.getdoc(PUBLIC[name]) or "", name)


WITH_EXAMPLES = [name for name in PUBLIC if examples_of(name)]


def test_everything_public_says_what_it_is() -> None:
    assert [name for name, found in PUBLIC.items() if not inspect.getdoc(found)] == []


def test_every_class_and_function_has_an_example() -> None:
    errors = tuple(name for name, found in PUBLIC.items() if inspect.isclass(found) and issubclass(found, Exception))
    without = {
        name
        for name, found in PUBLIC.items()
        if name not in WITH_EXAMPLES and name not in errors and not isinstance(found, PROPERTIES)
    }
    assert without == set(SHOWN_ELSEWHERE)


def start_of_a_producer(names: dict[str, Any], stack: ExitStack) -> None:
    """What the example of the class ends with, while it is still open."""
    bus = "sqlite:bus.db"
    stack.enter_context(headgate.committing(bus))
    producer = stack.enter_context(headgate.Producer(bus, "lake/events"))
    a, b = (headgate.DataFile(path=name, size=100, modification_time=0) for name in ("a.parquet", "b.parquet"))
    producer.create("id BIGINT, text STRING").wait(60)
    producer.append([a]).wait(60)
    names.update(bus=bus, producer=producer, a=a, b=b)


STARTS: dict[str, Callable[[dict[str, Any], ExitStack], None]] = {"Producer": start_of_a_producer}
"""For classes whose own example closes again what the examples of their methods go on with."""


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_an_example_gives_what_it_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An example of a method goes on where that of its class has ended."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"headgate": headgate}
    said: list[str] = []
    owner, _, method = name.partition(".")
    with ExitStack() as stack:
        shown = examples_of(name)
        if method and owner in STARTS:
            STARTS[owner](names, stack)
        elif method:
            shown = [*examples_of(owner), *shown]
        test = doctest.DocTest(shown, names, name, None, None, None)
        failed, _ = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=said.append, clear_globs=False)
    assert not failed, "".join(said)
