"""Reading a state of ten manifests, which are fetched and decoded side by side."""

from parts.measuring import Measured, repeat
from parts.tables import make_headgate
from table_works.opening import opened
from table_works.work import HEADGATE, Task, Work, two_sizes

MANIFESTS = 10


def make_ten_manifests(folder: str, files: int) -> None:
    make_headgate(folder, files, per_manifest=-(-files // MANIFESTS))


def _headgate(task: Task) -> Measured:
    import headgate_table.table  # noqa: F401  # imports are not part of the work

    def work() -> str:
        snapshot = opened(task.folder).snapshot()
        files = snapshot.files(["path"]).num_rows
        return f"{files:,} files in {snapshot.statistics.manifests_read} manifests"

    return repeat(task.runs, lambda: None, work)


MANIFESTS_WORK = Work(
    "list the paths of all live files of a table with ten manifests, a form that only ours has",
    {HEADGATE: _headgate},
    two_sizes,
    {HEADGATE: make_ten_manifests},
)
