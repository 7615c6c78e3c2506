"""Tables of Milvus manifests as the committer sees them: reading, deciding, and writing the next manifest with its
record.

`table` opens one for addresses that lead to a Milvus table. It keeps the promises of the other format: one version
per group, a record of every decision, and foreign versions that are recognised
(docs/milvus-protocol.md).

Begin with `milvus_backend`.
"""
