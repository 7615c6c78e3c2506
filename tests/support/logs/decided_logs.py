"""Logs whose versions say what was decided: by committers, direct commits and strangers, one version at a time."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from headgate_schemas.actions.actions import Action, AddFile, CommitInfo, Metadata, Protocol, RemoveFile
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import RejectCode, Writer
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import Decision, Settled, Term
from headgate_table.coordination.memory import TableMemory
from headgate_table.coordination.memory_text import kept_memory
from headgate_table.indextables.format.names import state_key, version_key
from headgate_table.indextables.format.state_manifest import encode_state
from headgate_table.indextables.format.version_file import encode_actions
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.state_writer import StateWriter
from headgate_table.settings.options import TableOptions
from headgate_table.store.interface import Store
from support.cleaning import one_thread
from support.tables import COLUMNS, START_MS, SteadyAmbient, add_file

SOURCE = Source("cluster-a", "topic-a", 0)
OTHER = Source("cluster-b", "topic-b", 3)
TERM = Term(1, "committer-1")


def accepted(identity: str, offset: int | None = None, writer: Writer | None = None) -> Decision:
    return Decision(identity, accepted=True, offset=offset, writer=writer)


def rejected(identity: str, reason: str = "it is live already", writer: Writer | None = None) -> Decision:
    return Decision(identity, accepted=False, writer=writer, code=RejectCode.PATH_IN_USE, reason=reason)


def by_committer(
    *decisions: Decision,
    first: int = 0,
    next_offset: int = 0,
    appended_ms: int = START_MS,
    time_ms: int | None = None,
    term: Term = TERM,
    source: Source = SOURCE,
    rebound: bool = False,
    actions: Sequence[Action] = (),
    purged: Sequence[str] = (),
    made_ms: int | None = None,
) -> list[Action]:
    """A version as a committer writes it."""
    body: dict[str, object] = {
        "timestamp": appended_ms if time_ms is None else time_ms,
        "operation": "Group",
        "nonce": f"{term.committer}-{next_offset}",
        "decisions": [decision.to_json() for decision in decisions],
        "committer": {"id": term.committer, "epoch": term.epoch},
        "source": Settled(source, first, next_offset, appended_ms, made_ms).to_json(),
    }
    body |= {"rebound": True} if rebound else {}
    body |= {"purged": list(purged)} if purged else {}
    return [*actions, CommitInfo(body)]


def directly(
    *decisions: Decision, time_ms: int = START_MS, actions: Sequence[Action] = (), purged: Sequence[str] = ()
) -> list[Action]:
    """A version as a direct commit writes it."""
    body: dict[str, object] = {
        "timestamp": time_ms,
        "operation": "Append",
        "nonce": f"direct-{time_ms}",
        "decisions": [decision.to_json() for decision in decisions],
    }
    body |= {"purged": list(purged)} if purged else {}
    return [*actions, CommitInfo(body)]


def adds(*names: str) -> list[Action]:
    return [add_file(name) for name in names]


def removes(*names: str) -> list[Action]:
    return [RemoveFile(add_file(name).path, START_MS, partition_values={}, size=1000) for name in names]


def metadata(configuration: Mapping[str, str] | None = None, coordinator: str | None = None) -> Metadata:
    return Metadata(
        "table-1", schema_string_of(COLUMNS), configuration=dict(configuration or {}), coordinator=coordinator
    )


def write_log(store: Store, versions: Sequence[Sequence[Action]], first: int = 1) -> None:
    """Version 0 with protocol and metadata, and these after it."""
    if first == 1:
        store.put(version_key(0), encode_actions([Protocol(), metadata()]))
    for number, actions in enumerate(versions, start=first):
        # A version of nothing holds a line that nobody knows: a file without any would be damaged.
        store.put(version_key(number), encode_actions(list(actions)) if actions else b'{"txn":{}}\n')


def fresh_reader(store: Store) -> LogReader:
    """As a process sees the table that has read nothing yet."""
    return LogReader(store, one_thread())


def replayed(versions: Sequence[Sequence[Action]], memory: TableMemory) -> TableMemory:
    memory.apply(0, [Protocol(), metadata()])
    for number, actions in enumerate(versions, start=1):
        memory.apply(number, actions)
    return memory


def write_state(store: Store, version: int, memory: TableMemory) -> None:
    """The state of a version, with this memory."""
    reader = fresh_reader(store)
    log = reader.at_version(version)
    StateWriter(reader, SteadyAmbient(f"state {version}"), TableOptions()).write(
        log, reader.metadata(log), kept_memory(memory)
    )


def write_foreign_state(store: Store, version: int, *, keep_configuration: bool = True) -> None:
    """The state of a version as strangers write it: without the field; the configuration is all that they carry along."""
    reader = fresh_reader(store)
    log = reader.at_version(version)
    known = log.known_metadata or metadata()
    if not keep_configuration:
        known = replace(known, coordinator=None)
    scratch = StateWriter(reader, SteadyAmbient(f"foreign {version}"), TableOptions())
    state = scratch.write(log, known, kept_memory(TableMemory())).state
    store.put(state_key(version), encode_state(replace(state, coordinator=None, metadata=known), bytes(16)))


@dataclass(slots=True)
class _Drawing:
    """What a generated log has come to so far."""

    live: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    offset: int = 0
    time_ms: int = START_MS
    epoch: int = 1
    source: Source = SOURCE
    names: int = 0

    def new_name(self) -> str:
        self.names += 1
        return f"f{self.names}"


@st.composite
def decided_logs(draw: st.DrawFn, max_versions: int = 14) -> list[list[Action]]:
    """Versions after version 0: direct, by committers in order of their terms, foreign, of rejections only; with purges,
    rebindings and ids that come again."""
    state = _Drawing()
    kinds = st.sampled_from(
        ["direct", "group", "group", "rejections", "foreign", "rebind", "foreign metadata", "takeover"]
    )
    return [_version(draw, state, draw(kinds)) for _ in range(draw(st.integers(1, max_versions)))]


def _version(draw: st.DrawFn, state: _Drawing, kind: str) -> list[Action]:
    state.time_ms += draw(st.sampled_from([0, 10, 400, 900]))
    ids = st.integers(0, 12).map(lambda number: f"proposal-{number}")
    match kind:
        case "direct":
            return directly(
                accepted(draw(ids)), time_ms=state.time_ms, actions=_effect(draw, state), purged=_purge(draw)
            )
        case "foreign":
            return _effect(draw, state)
        case "foreign metadata":
            old = json.dumps(
                {
                    "format": 1,
                    "term": [1, "committer-0"],
                    "rebound": 0,
                    "source": None,
                    "positions": [["cluster-a", "topic-a", 0, 1]],
                    "writers": [["app-0", 1, 1]],
                }
            )
            return [metadata({"owner": draw(st.sampled_from("abc"))}, old)]
        case "rebind":
            state.epoch += 1
            state.source = draw(st.sampled_from([SOURCE, OTHER]))
            state.offset = draw(st.integers(0, 50))
            term = Term(state.epoch, "committer-1")
            return by_committer(
                first=state.offset,
                next_offset=state.offset,
                appended_ms=state.time_ms,
                term=term,
                source=state.source,
                rebound=True,
            )
        case "takeover":
            state.epoch += 1
        case _:
            pass
    decisions: list[Decision] = []
    for _ in range(draw(st.integers(1, 3))):
        writer = draw(st.none() | st.builds(Writer, st.sampled_from(["app-0", "app-1"]), st.integers(0, 30)))
        wrong = kind == "rejections" or draw(st.booleans())
        decisions.append(rejected(draw(ids), writer=writer) if wrong else accepted(draw(ids), state.offset, writer))
        state.offset += 1
    effect = [] if kind == "rejections" else _effect(draw, state)
    return by_committer(
        *decisions,
        first=state.offset - len(decisions),
        next_offset=state.offset,
        appended_ms=state.time_ms - draw(st.sampled_from([0, 5])),
        time_ms=state.time_ms,
        term=Term(state.epoch, "committer-1"),
        source=state.source,
        actions=effect,
        purged=_purge(draw),
    )


def _purge(draw: st.DrawFn) -> list[str]:
    return draw(st.sampled_from([[], [], [], ["old-1.parquet"], ["old-1.parquet", "old-2.parquet"]]))


def _effect(draw: st.DrawFn, state: _Drawing) -> list[Action]:
    """Removes of live files, then new files; at times one that was removed comes back."""
    found: list[Action] = []
    for _ in range(draw(st.integers(0, 2))):
        if state.live:
            name = state.live.pop(draw(st.integers(0, len(state.live) - 1)))
            found += removes(name)
            state.gone.append(name)
    removed_now = {action.path for action in found if isinstance(action, RemoveFile)}
    back = [name for name in state.gone if add_file(name).path not in removed_now]
    for _ in range(draw(st.integers(0, 2))):
        comes_back = draw(st.booleans())
        name = back.pop() if back and comes_back else state.new_name()
        if name in state.gone:
            state.gone.remove(name)
        state.live.append(name)
        found += adds(name)
    assert all(isinstance(action, AddFile | RemoveFile) for action in found)
    return found
