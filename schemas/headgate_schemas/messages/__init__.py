"""The messages of a bus: proposals, receipts, commit events and dead letters, as values and as bytes.

Producers encode proposals, the committer decodes them and encodes events, and workers and pages decode events. A
decoded message is within its bounds; all other bytes raise an error. Releases only add fields. docs/messages.md is the
specification.

Begin with `proposals`, `operations` and `events`. `sources`, `proposal_ids` and `cloud_events` are short: each holds
one convention that several messages share.
"""
