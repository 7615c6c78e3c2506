"""Cases of foreign logs: each is a log folder as one writer, or one kind of damage, leaves it, with what a reader must make of it.

`case` says what a case is, `expected` what is held against it; the other modules list cases by their subject.
"""
