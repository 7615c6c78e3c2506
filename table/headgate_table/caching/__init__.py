"""What readings of one process share: threads, a bounded cache in memory, a cache on disk, and where paths may lie.

Log readers take it from their caller; a process usually has one `resources`. Everything that is kept is immutable, so
nothing in it can be stale. It is bounded, and made at first use.

Begin with `resources`.
"""
