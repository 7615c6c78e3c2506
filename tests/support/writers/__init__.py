"""Tables in the manner of every known writer, and by hand, for tests of the reader.

Nothing in here imports `headgate_*`: a table read by the code that wrote it proves nothing.
"""
