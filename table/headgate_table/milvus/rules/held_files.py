"""Whether a manifest already holds a data file or a delta log that a transaction adds. Pure.

Adding such a file again would repeat its rows, or count its deletes twice. Different builds store one path in different
ways, so a file is looked up under every possible spelling.
"""

from collections.abc import Iterable, Sequence

from headgate_schemas.milvus import ColumnGroupFile, DeltaLog
from headgate_table.milvus.format.names import DATA_FOLDER, DELTA_FOLDER
from headgate_table.milvus.format.paths import ManifestBase, bare_name, is_bare


def repeated_file(held: Sequence[ColumnGroupFile], added: Sequence[ColumnGroupFile], base: ManifestBase) -> str | None:
    """The path of an added file that its column group holds already, or that is added twice; None if all are new.

    A file of the table's own `_data` folder belongs to one append. A file elsewhere may be held in pieces, as in
    external tables, but no row of it twice. One append may name pieces of one file in either case.
    """
    pieces: dict[str, list[ColumnGroupFile]] = {}
    for file in added:
        name = bare_name(file.path, base, DATA_FOLDER)
        if any(_share_rows(file, other) for other in pieces.setdefault(name, [])):
            return file.path
        pieces[name].append(file)
    spellings = {spelling: name for name in pieces for spelling in _spellings(name, DATA_FOLDER, base)}
    spellings |= {file.path: bare_name(file.path, base, DATA_FOLDER) for file in added}
    for file in [file for file in held if file[0] in spellings]:  # by index: a manifest has tens of thousands of them
        name = spellings[file.path]
        if is_bare(name) or any(_share_rows(file, piece) for piece in pieces[name]):
            return file.path
    return None


def repeated_delta_log(held: Iterable[DeltaLog], added: Sequence[DeltaLog], base: ManifestBase) -> str | None:
    """The path of an added delta log that the manifest holds already, or that is added twice; None if all are new."""
    names: set[str] = set()
    for log in added:
        name = bare_name(log.path, base, DELTA_FOLDER)
        if name in names:
            return log.path
        names.add(name)
    spellings = {spelling for name in names for spelling in _spellings(name, DELTA_FOLDER, base)}
    return next((log.path for log in held if log.path in spellings), None)


def _spellings(name: str, folder: str, base: ManifestBase) -> tuple[str, ...]:
    """All spellings of that file in manifests."""
    if not is_bare(name):
        return (name,)
    return (name, *(spelling + name for spelling in base.spellings(folder)))


def _share_rows(one: ColumnGroupFile, other: ColumnGroupFile) -> bool:
    if (one.start_index, one.end_index) == (other.start_index, other.end_index):
        return True
    return one.start_index < other.end_index and other.start_index < one.end_index
