"""The memory of a table about its proposals: decisions, writers' seqs, ids, positions and the source.

The committer and direct commits read and extend it in both table formats. It is a pure function of the versions applied
in order, so every process computes the same. Because of this memory, a restart decides nothing twice.

Begin with `memory`, then `commit_info` (the part that one version adds) and `memory_text` (its form in a state).
"""
