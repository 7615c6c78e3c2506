"""Writing the next version, and the states and manifests beside it.

The committer and direct commits call it. The version file is the only commit point: it is created only if it is
absent, and an unknown outcome is read back. A state or pointer that is missing or late makes reading slower, never
wrong.

Begin with `version_writer`, then `version_body` (pure) and `commit` for direct commits. `state_writer` writes states.
"""
