"""Which options go together: those of plain reads, of streams, and of the change feed. What each does is elsewhere."""

from headgate_schemas.errors import InvalidInput
from pyspark_headgate.changes.feed import OnRemoval
from pyspark_headgate.options import SourceOptions


def check_plain_read(given: SourceOptions) -> None:
    """Raise `InvalidInput` for options by which somebody means changes, where a version is read."""
    meant = {
        "startingVersion": given.starting_version,
        "startingTimestamp": given.starting_timestamp,
        "maxVersionsPerTrigger": given.max_versions_per_trigger,
        "maxFilesPerTrigger": given.max_files_per_trigger,
    }
    for name, value in meant.items():
        if value is not None:
            raise InvalidInput(
                f"option {name} is about changes, and this read is of one version. Add readChangeFeed=true to read changes at "
                f"once, use spark.readStream to read them as they come, or name the version with versionAsOf"
            )


def check_stream(given: SourceOptions) -> None:
    """The same for options of plain reads, where what comes is read."""
    for name, value in {"versionAsOf": given.version_as_of, "timestampAsOf": given.timestamp_as_of}.items():
        if value is not None:
            raise InvalidInput(
                f"option {name} is about one version, and a stream reads those that come. startingVersion and "
                f"startingTimestamp say where it starts"
            )
    _check_rows(given)


def check_feed(given: SourceOptions) -> None:
    """The same for a change feed that is read at once, up to the version that is read."""
    if given.starting_version is None and given.starting_timestamp is None:
        raise InvalidInput(
            "readChangeFeed reads from startingVersion or startingTimestamp on: set one of them, such as "
            "startingVersion=earliest"
        )
    _check_rows(given)


def _check_rows(given: SourceOptions) -> None:
    if given.where is not None:
        raise InvalidInput("option where is for reads of one version; filter changes as any DataFrame: .where(...)")


def on_removal(given: SourceOptions) -> OnRemoval:
    """What the options say of versions that remove rows. Raises `InvalidInput` where they contradict each other."""
    if given.skip_change_commits:
        raise InvalidInput(
            "skipChangeCommits would leave out whole versions, and here one version may hold the appends of other writers "
            "beside what removes rows: they would be lost. Use ignoreChanges=true, which reads all that is added, or "
            "readChangeFeed=true"
        )
    if given.read_change_feed:
        if given.ignore_deletes or given.ignore_changes:
            raise InvalidInput("a change feed has the rows that are removed: leave out ignoreDeletes and ignoreChanges")
        return OnRemoval.DELIVER
    if given.ignore_changes:
        return OnRemoval.IGNORE_CHANGES
    return OnRemoval.IGNORE_DELETES if given.ignore_deletes else OnRemoval.REFUSE
