"""The Delta mirror: a Delta log beside a table's own, so that engines that read Delta can read the table. No data is
copied.

Workers with the role `mirror` and `headgate table mirror` call it. Version N of the table is version N of the mirror. A
commit of the mirror is a pure function of its version, and is created only if absent, so mirrors may run side by side
and be killed at any point. A commit of another program stops the mirror; nothing is overwritten.
`indextables.cleaning.mirrored` decides which objects cleaning keeps for a mirror.

Begin with `mirror`, then `commit`.
"""
