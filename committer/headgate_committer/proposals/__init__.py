"""Proposals on their way through a committer: from records to proposals, those that were decided before, and the
answers.

`partition`, `table` and `deciding` call it. All of it is pure. A record that is no proposal becomes a dead letter
with its reason; a repeated proposal gets its first answer again.

Begin with `intake`, then `triage`, then `answers`: that is the order in which a proposal meets them.
"""
