"""Finds faults in a table's settings as a whole: unknown names, and settings that contradict each other.

`options` checks single values. Nothing here blocks a commit: whoever sets or applies such settings gets an error.
"""

import difflib
from collections.abc import Mapping

from headgate_schemas.actions.actions import COORDINATOR_KEY
from headgate_schemas.errors import InvalidInput
from headgate_table.settings.options import MIN_FILE_AGE_HOURS, SETTINGS, TableOptions, bare_key, table_options

FAMILIES = ("merge.", "mergeOnWrite.", "purgeOnWrite.")
"""Settings for maintenance. A key of these families that names no setting is a mistake, whatever its prefix."""

_OWN_PREFIXES = ("headgate.", "spark.headgate.")
"""Other keys of a configuration may be what other programs understand."""

_FOR_A_CLUSTER = frozenset(
    {
        "mergeOnWrite.batchCpuFraction",
        "mergeOnWrite.maxConcurrentBatches",
        "mergeOnWrite.shutdownTimeoutMs",
        "mergeOnWrite.mergeGroupMultiplier",
        "mergeOnWrite.minDiskSpaceGB",
        "mergeOnWrite.maxConcurrentMergesPerWorker",
        "mergeOnWrite.memoryOverheadFactor",
    }
)
"""Settings of other implementations, for how their merges share a cluster: they may stay, and say nothing to a worker."""

_DEFAULTS = TableOptions()


def unknown_setting(configuration: Mapping[str, str | None]) -> str | None:
    """The fault of a key that looks like a setting and isn't one."""
    known = {setting.key.lower() for setting in SETTINGS} | {key.lower() for key in _FOR_A_CLUSTER}
    for key, text in configuration.items():
        bare = bare_key(key)
        family = next((family for family in FAMILIES if bare.lower().startswith(family.lower())), None)
        is_own = key.startswith(_OWN_PREFIXES) and not key.startswith(COORDINATOR_KEY)
        if (family is not None or is_own) and text is not None and bare.lower() not in known:
            return _no_setting(key, family or "")
    return None


def check_settings(settings: Mapping[str, str]) -> None:
    """Raise `InvalidInput` where a key names no setting. A prefix may stand before each."""
    known = {setting.key.lower() for setting in SETTINGS} | {key.lower() for key in _FOR_A_CLUSTER}
    for key in settings:
        if bare_key(key).lower() not in known:
            raise InvalidInput(_no_setting(key, ""))


def _no_setting(key: str, family: str) -> str:
    ours = [setting.key for setting in SETTINGS if setting.key.startswith(family)]
    near = difflib.get_close_matches(bare_key(key), ours, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(ours)}"
    return f"there is no setting {key}; {hint}"


def contradiction(options: TableOptions) -> str | None:
    """Two settings that contradict each other."""
    for key, sources, default in (
        ("merge.minSources", options.merge_min_sources, _DEFAULTS.merge_min_sources),
        ("mergeOnWrite.minSplitsToMerge", options.merge_on_write_min_sources, _DEFAULTS.merge_on_write_min_sources),
    ):
        # A setting that nobody has set gives way.
        if sources is not None and sources != default and sources > options.merge_max_sources:
            return (
                f"{key} is {sources} and merge.maxSourceSplitsPerMerge {options.merge_max_sources}: no merge may take as many "
                f"files as it is to wait for"
            )
    if options.purge_on_write and not (options.purge_on_write_after_merge or options.purge_on_write_after_writes):
        return (
            "purgeOnWrite.enabled is true, but purgeOnWrite.triggerAfterMerge false and purgeOnWrite.triggerAfterWrites 0: it "
            "would never clean. Set one of the two"
        )
    hours = options.purge_on_write_file_hours
    if options.purge_on_write and hours is not None and hours < MIN_FILE_AGE_HOURS and options.purge_retention_check:
        return (
            f"purgeOnWrite.splitRetentionHours is {hours}, which could delete files of jobs that have not committed yet; at "
            f"least {MIN_FILE_AGE_HOURS} are needed, unless purge.retentionCheckEnabled is false"
        )
    return None


def check_configuration(configuration: Mapping[str, str]) -> None:
    """For a table that is to be created. Raises `InvalidInput`."""
    problem = unknown_setting(configuration) or contradiction(table_options(configuration))
    if problem is not None:
        raise InvalidInput(problem)


def new_problem(before: Mapping[str, str], change: Mapping[str, str | None], after: Mapping[str, str]) -> str | None:
    """A new fault of a changed configuration: an older fault doesn't block other changes."""
    unknown = unknown_setting(change)
    if unknown is not None:
        return unknown
    try:
        problem = contradiction(table_options(after))
        return None if problem is None or contradiction(table_options(before)) is not None else problem
    except InvalidInput:
        return None  # another program wrote the value, and this change keeps it
