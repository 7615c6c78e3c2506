"""Every metric of Headgate's processes, as values. docs/metrics.md is generated from them.

No label names a table: their number is unbounded, and each one would be a permanent series in the monitoring.
"""

from headgate_schemas.measures import OTHER, Counter, Gauge, Histogram, Label, Metric
from headgate_schemas.messages.operations import RejectCode

_LATENCIES_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_LONG_S = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
_COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
_FILES = (100, 1_000, 10_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000)
_RATIOS = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)

CODE = Label("code", tuple(code.value for code in RejectCode))
PROCESS = Label("process", ("committer", "worker"))
ROLE = Label("role", ("merge", "compact", "clean", "mirror", OTHER))
REASON = Label(
    "reason",
    (
        "starting",
        "stuck",
        "bus_silent",
        "store_silent",
        "tables_fail",
        "unannounced",
        "late",
        "ending",
        "ended",
    ),
)
"""Why a process is not ready; the judge in `headgate.health.judgement` says what each means."""

# ---- the committer: proposals and versions

PROPOSALS_RECEIVED = Counter(
    "headgate_proposals_received_total", "Records of the proposals topic that the committer has taken from the bus"
)
PROPOSALS_RECEIVED_BYTES = Counter(
    "headgate_proposals_received_bytes_total", "Bytes of these records, without what lies behind claim checks"
)
PROPOSALS_DECIDED = Counter(
    "headgate_proposals_decided_total",
    "Proposals that have an answer. The code is why one was rejected, and none otherwise",
    (Label("outcome", ("committed", "duplicate", "rejected")), Label("code", ("none", *CODE.values))),
)
DEAD_LETTERS = Counter(
    "headgate_dead_letters_total", "Records that nobody can decide, handed to the dead letters", (CODE,)
)
VERSIONS_WRITTEN = Counter(
    "headgate_versions_written_total",
    "Versions that this committer has written, by the operation that they are announced with",
    (
        Label(
            "operation",
            (
                "Alter",
                "Append",
                "CompactState",
                "Create",
                "Delete",
                "Group",
                "Milvus",
                "Overwrite",
                "Purge",
                "Reject",
                "Restore",
                "Rewrite",
                "Skip",
                OTHER,
            ),
        ),
    ),
)
VERSIONS_LOST = Counter(
    "headgate_versions_lost_total",
    "Attempts at a version that brought none: the number was taken by another writer, what came before was cleaned away, or "
    "the store did not say what became of it",
    (Label("cause", ("number_taken", "predecessor_gone", "outcome_unknown")),),
)
GROUP_PROPOSALS = Histogram(
    "headgate_group_proposals", "Proposals that one version has settled", buckets=tuple(map(float, _COUNTS))
)
FILES_ADDED = Counter("headgate_files_added_total", "Files that versions of this committer have added")
FILES_REMOVED = Counter("headgate_files_removed_total", "Files that versions of this committer have removed")
COMMIT_STEP_SECONDS = Histogram(
    "headgate_commit_step_seconds",
    "How long the steps of a commit took: the oldest proposal of a group on the bus and in the queue, the part of that in "
    "which company was waited for, deciding, writing the version, announcing, and writing the state that follows",
    (Label("step", ("queue", "linger", "decide", "write", "publish", "state")),),
    buckets=_LATENCIES_S,
)
COMMIT_SECONDS = Histogram(
    "headgate_commit_seconds",
    "From the moment the bus took a proposal to the moment its receipt was published, for each proposal",
    buckets=_LATENCIES_S,
)

# ---- the committer: its status

PARTITIONS_HELD = Gauge(
    "headgate_partitions_held", "Partitions of the bus that this process holds; 0 means that it stands by", (PROCESS,)
)
LAG_PROPOSALS = Gauge(
    "headgate_lag_proposals", "Proposals on the partitions that are held, behind the offset that is settled"
)
LAG_SECONDS = Gauge(
    "headgate_lag_seconds", "How long ago the bus took the oldest proposal that has no answer; 0 where all have one"
)
TABLES = Gauge(
    "headgate_tables",
    "Tables that the committer holds open; and, open or not, those with undecided proposals, those that are left alone for a "
    "while because their store failed, those that an operator has to look at, and those whose proposals do not fit into memory",
    (Label("condition", ("open", "busy", "waiting", "refused", "spilled")),),
)
QUEUED_PROPOSALS = Gauge("headgate_queued_proposals", "Undecided proposals in the memory of the committer")
STATE_TOMBSTONES_NOW = Gauge(
    "headgate_state_tombstones_now", "Tombstones in the newest known states of all tables that the committer holds open"
)
STATE_TOMBSTONE_RATIO_HIGHEST = Gauge(
    "headgate_state_tombstone_ratio_highest",
    "The highest ratio of tombstones to live files among these states; the log line of the state names its table",
)

# ---- states

STATE_READ_SECONDS = Histogram(
    "headgate_state_read_seconds",
    "How long it took to read a state: its list of manifests, and entries of manifests",
    (Label("part", ("list", "entries")),),
    buckets=_LATENCIES_S,
)
STATE_READ_MANIFESTS = Histogram(
    "headgate_state_read_manifests",
    "Manifests that were read for entries at one time",
    buckets=tuple(map(float, _COUNTS)),
)
STATE_READ_FILES = Histogram(
    "headgate_state_read_files",
    "Entries of files that were read at one time",
    buckets=tuple(map(float, _FILES)),
)
_COMPACTED = Label("compacted", ("yes", "no"))
STATE_WRITE_SECONDS = Histogram(
    "headgate_state_write_seconds",
    "How long it took to write a state, and whether it swapped manifests for compacted ones",
    (_COMPACTED,),
    buckets=_LATENCIES_S,
)
STATE_WRITE_MANIFESTS = Histogram(
    "headgate_state_write_manifests", "Manifests that a written state lists", buckets=tuple(map(float, _COUNTS))
)
STATE_WRITE_FILES = Histogram(
    "headgate_state_write_files", "Live files of a written state", buckets=tuple(map(float, _FILES))
)
STATE_TOMBSTONES = Histogram(
    "headgate_state_tombstones", "Tombstones of a written state", buckets=tuple(map(float, _FILES))
)
STATE_TOMBSTONE_RATIO = Histogram(
    "headgate_state_tombstone_ratio", "Tombstones of a written state, as a share of its live files", buckets=_RATIOS
)
STATES_FAILED = Counter(
    "headgate_states_failed_total", "States that could not be written; their tables are read by version files meanwhile"
)
CACHE_LOOKUPS = Counter(
    "headgate_cache_lookups_total",
    "Look-ups of immutable objects of logs in memory",
    (Label("outcome", ("hit", "miss")),),
)

# ---- stores

STORE_REQUEST = Label(
    "request",
    (
        "get",
        "get_range",
        "get_with_etag",
        "put",
        "put_stream",
        "create",
        "swap",
        "head",
        "list",
        "list_folder",
        "delete",
    ),
)
STORE_REQUEST_SECONDS = Histogram(
    "headgate_store_request_seconds",
    "How long requests to stores took, with their repeats; a listing counts once, whatever its pages. Missing: no such "
    "object; exists: a conditional write that came second; unknown: no answer to a conditional write",
    (STORE_REQUEST, Label("outcome", ("ok", "missing", "exists", "unknown", "failed"))),
    buckets=_LATENCIES_S,
)
STORE_BYTES = Counter(
    "headgate_store_bytes_total",
    "Bytes of objects that were read from stores and written to them",
    (Label("direction", ("read", "written")),),
)

# ---- workers

WORK_SECONDS = Histogram(
    "headgate_work_seconds",
    "How long looks at tables and tasks took, by role and outcome. Nothing: a look that found nothing to do",
    (
        ROLE,
        Label("work", ("look", "task")),
        Label("outcome", ("done", "nothing", "failed", "abandoned", "not_there")),
    ),
    buckets=_LONG_S,
)
WORK_BYTES = Counter(
    "headgate_work_bytes_total",
    "What the tasks that were done have weighed: bytes of merged files, estimated bytes of compacted entries",
    (ROLE,),
)
_CATEGORY = Label(
    "category",
    (
        "state",
        "checkpoint",
        "version_file",
        "manifest",
        "data_file",
        "temporary_file",
        "object_in_quarantine",
        "claim",
        "object_of_a_mirror",
    ),
)
CLEANED_OBJECTS = Counter(
    "headgate_cleaned_objects_total",
    "Objects that were deleted because nothing needs them any more",
    (_CATEGORY,),
)
CLEANED_BYTES = Counter("headgate_cleaned_bytes_total", "Bytes of these objects", (_CATEGORY,))
MIRROR_VERSIONS = Counter("headgate_mirror_versions_total", "Versions that were published in Delta mirrors")
MIRROR_BEHIND = Gauge(
    "headgate_mirror_behind_versions", "Versions that the mirror lacked that was the furthest behind, at the last looks"
)
MIRROR_STOPPED = Gauge(
    "headgate_mirrors_stopped", "Mirrors that can't go on by themselves; `headgate table describe` says why"
)
WORK_UNDER_WAY = Gauge("headgate_work_under_way", "Looks and tasks that are under way or wait for a thread")
WORKER_TABLES = Gauge("headgate_worker_tables", "Tables that the worker remembers")
WORKER_YIELDS = Gauge(
    "headgate_worker_yields", "1 while the worker begins nothing new because the committer is behind, else 0"
)
BACKLOG_EVENTS = Gauge("headgate_backlog_events", "Events of held partitions that the worker has not read")
BACKLOG_SECONDS = Gauge("headgate_backlog_seconds", "How old the oldest of these events is, at most")

# ---- processes

READY = Gauge("headgate_ready", "1 while the part of the process is ready, as at /readyz, else 0", (PROCESS,))
UNREADY = Gauge("headgate_unready", "1 for each reason why the part is not ready, else 0", (PROCESS, REASON))
ROUND_AGE_SECONDS = Gauge(
    "headgate_round_age_seconds", "How long ago the loop of the part came round for the last time", (PROCESS,)
)
BUS_SILENT_SECONDS = Gauge(
    "headgate_bus_silent_seconds", "For how long the bus has not answered this process; 0 while it does"
)
STORE_SILENT_SECONDS = Gauge(
    "headgate_store_silent_seconds",
    "For how long the store of a root has not answered this process, of the worst; 0 while all do",
)
THREADS = Gauge("headgate_threads", "Threads of Python in the process")

CATALOGUE: tuple[Metric, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
"""All of them, in the order of this page."""
BY_NAME = {metric.name: metric for metric in CATALOGUE}

BUILD_INFO = "headgate_build_info"
"""1, with the release and the Python as labels: of one process they never change."""
LIBRARY_METRICS = (
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_virtual_memory_bytes",
)
"""Those that every process of a Prometheus client has, on Linux."""
