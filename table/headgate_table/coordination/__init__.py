"""What a table remembers of its proposals: decisions, writers' counters, ids, positions and the feeding log.

The committer and direct commits read and extend it in both table formats. It is a pure function of the versions
applied in order, so every process remembers the same. This memory is why a restart decides nothing twice.

Begin with `memory`, then `commit_info` (what one version adds to it) and `memory_text` (how a state carries it).
"""
