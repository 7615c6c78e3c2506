"""The Delta mirror: a Delta log beside a table's own, so that every engine that reads Delta reads the table. No data is copied.

Workers with the role `mirror` and `headgate table mirror` call it. Version N of the table is version N of the mirror. A
commit of the mirror is a pure function of its version, and is created only if absent, so that mirrors may run side by side
and be killed anywhere. A commit that somebody else wrote stops the mirror; nothing is overwritten. What cleaning leaves for a
mirror is `indextables.cleaning.mirrored`'s.

Begin with `mirror`, then `commit`.
"""
