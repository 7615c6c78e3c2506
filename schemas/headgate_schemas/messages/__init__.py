"""The messages of a bus: proposals, receipts, commit events and dead letters, as values and as bytes.

Producers encode proposals, the committer decodes them and encodes events, and workers and pages decode events. A
message that decodes is within its bounds; any other bytes raise an error and nothing else. Fields are only ever
added. docs/messages.md is the specification.

Begin with `proposals`, `operations` and `events`. `sources`, `proposal_ids` and `cloud_events` are short: each holds
one convention that several messages share.
"""
