"""A committer inside of another program: for one machine, notebooks and tests. Deployments run `headgate committer`."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

from headgate_bus.open import open_bus
from headgate_committer.limits import CommitterLimits
from headgate_committer.serving import serving
from headgate_schemas import arguments
from headgate_schemas.ambient import Ambient, SystemAmbient
from headgate_schemas.errors import HeadgateError
from headgate_table.store.settings import StoreSettings


@contextmanager
def committing(
    bus: str,
    storage: Mapping[str, str] | StoreSettings | None = None,
    *,
    roots: Sequence[str] = (),
    limits: CommitterLimits | None = None,
    ambient: Ambient | None = None,
) -> Iterator[None]:
    """Decide the proposals of a bus in a thread of this program, until the end of the block.

    At the end of the block, it first finishes the proposals that it has read. If another committer took its place, the
    block raises that error. If the bus cannot be opened, it raises immediately.

    Examples:
        >>> bus = "sqlite:bus.db"
        >>> with headgate.committing(bus), headgate.Producer(bus, "lake/events") as producer:
        ...     producer.create("id BIGINT").wait(30).version
        0
    """
    bus, roots = arguments.text("bus", bus), arguments.texts("roots", roots)
    if limits is not None:
        arguments.instance(CommitterLimits)("limits", limits)
    if storage is not None and not isinstance(storage, StoreSettings):
        arguments.text_map("storage", storage)
    chosen = ambient or SystemAmbient()
    stores = StoreSettings.of(storage)
    told_to_stop = threading.Event()
    ended: list[HeadgateError] = []

    def work() -> None:
        try:
            with (
                closing(open_bus(bus, chosen)) as opened,
                serving(opened, stores, chosen, limits, roots=roots) as committer,
            ):
                is_ready.set()
                committer.run(told_to_stop.is_set)
        except HeadgateError as error:
            ended.append(error)
        finally:
            is_ready.set()

    is_ready = threading.Event()
    thread = threading.Thread(target=work, name="headgate-committer", daemon=True)
    thread.start()
    is_ready.wait()
    if ended:
        thread.join()
        raise ended[0]
    try:
        yield
    except BaseException as error:
        if ended:  # which may well be the reason why the block failed
            error.add_note(f"the committer of this block had ended before: {ended[0]}")
        raise
    finally:
        told_to_stop.set()
        thread.join()
    if ended:
        raise ended[0]
