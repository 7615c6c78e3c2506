"""Checks combinations of options of plain reads, of streams, and of the change feed. Other modules apply them."""

from headgate_schemas.errors import InvalidInput
from pyspark_headgate.changes.feed import OnRemoval
from pyspark_headgate.options import SourceOptions


def check_plain_read(given: SourceOptions) -> None:
    """Raise `InvalidInput` for options of change feeds in a read of one version."""
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
    """Raise `InvalidInput` for options of plain reads in a stream."""
    for name, value in {"versionAsOf": given.version_as_of, "timestampAsOf": given.timestamp_as_of}.items():
        if value is not None:
            raise InvalidInput(
                f"option {name} is about one version, and a stream reads those that come. startingVersion and "
                f"startingTimestamp say where it starts"
            )
    _check_rows(given)


def check_feed(given: SourceOptions) -> None:
    """Raise `InvalidInput` for other options in a change feed that is read at once."""
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
    """The option for versions that remove rows. Raises `InvalidInput` for contradictions."""
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
