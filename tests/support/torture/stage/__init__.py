"""Where a run of the torture takes place: processes, brokers, stores, disks and lines between them, and what can befall each.

Begin with `scenes` (which bus and store) and `stage` (a table with processes on it).
"""
