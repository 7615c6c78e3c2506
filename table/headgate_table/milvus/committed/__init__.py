"""The records that a committer writes beside the manifests of a Milvus table, and versions read together with them.

The committer calls it, and so do producers that ask for the outcome of a proposal. The manifest is the commit point. A
record belongs to one manifest, by number and digest, and doesn't count without it.

Begin with `log`, then `records` and `writer`.
"""
