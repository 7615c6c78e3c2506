"""The parts that all reads of one process share: threads, a bounded cache in memory, a cache on disk, and hashes of
paths.

Log readers get it from their caller; a process usually has one `resources`. All cached objects are immutable, so none
can be stale. The caches are bounded, and made at first use.

Begin with `resources`.
"""
