"""What is wrong with a table's settings for maintenance taken together: names that none has, and settings that contradict.

Single values are judged where they are read (`options`). Nothing here stops a commit: whoever sets such settings is told,
and whoever would act on them.
"""

import difflib
from collections.abc import Mapping

from headgate_schemas.errors import InvalidInput
from headgate_table.settings.options import MIN_FILE_AGE_HOURS, SETTINGS, TableOptions, bare_key, table_options

FAMILIES = ("merge.", "mergeOnWrite.", "purgeOnWrite.")
"""Their names are Headgate's to know; of all other keys a configuration may hold what other programs understand."""

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
    """What is wrong with a key that looks like a setting for maintenance and is none."""
    known = {setting.key.lower() for setting in SETTINGS} | {key.lower() for key in _FOR_A_CLUSTER}
    for key, text in configuration.items():
        bare = bare_key(key)
        family = next((family for family in FAMILIES if bare.lower().startswith(family.lower())), None)
        if family is None or text is None or bare.lower() in known:
            continue
        ours = [setting.key for setting in SETTINGS if setting.key.startswith(family)]
        near = difflib.get_close_matches(bare, ours, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(ours)}"
        return f"there is no setting {key}; {hint}"
    return None


def contradiction(options: TableOptions) -> str | None:
    """Two settings that can't both be meant."""
    for key, sources, default in (
        ("merge.minSources", options.merge_min_sources, _DEFAULTS.merge_min_sources),
        ("mergeOnWrite.minSplitsToMerge", options.merge_on_write_min_sources, _DEFAULTS.merge_on_write_min_sources),
    ):
        # What nobody has set gives way by itself.
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
    """Of a table that is to be made. Raises `InvalidInput`."""
    problem = unknown_setting(configuration) or contradiction(table_options(configuration))
    if problem is not None:
        raise InvalidInput(problem)


def new_problem(before: Mapping[str, str], change: Mapping[str, str | None], after: Mapping[str, str]) -> str | None:
    """What is wrong with a changed configuration that wasn't before: an older problem doesn't stand in the way of others."""
    unknown = unknown_setting(change)
    if unknown is not None:
        return unknown
    try:
        problem = contradiction(table_options(after))
        return None if problem is None or contradiction(table_options(before)) is not None else problem
    except InvalidInput:
        return None  # of a value that another program has put there, and that this change leaves alone
