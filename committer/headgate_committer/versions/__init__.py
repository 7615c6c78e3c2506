"""The committer's view of an IndexTables log: the newest version and the memory, kept current, and the next version
written.

`table` opens one per table. The version file is written only if it is absent; an unknown outcome is read back. States
are written beside the commits and never delay them.

Begin with `version_log`, then `table_log` for what is held in memory, `version_draft` for the next version and `states`
for the states.
"""
