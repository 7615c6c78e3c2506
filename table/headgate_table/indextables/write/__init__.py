"""Writes the next version, and its states and manifests.

The committer and direct commits call it. The version file is the only commit point: it is created only if absent, and
after an unknown outcome it is read back. A missing or late state or pointer makes reads slower, never wrong.

Begin with `version_writer`, then `version_body` (pure) and `commit` for direct commits. `state_writer` writes states.
"""
