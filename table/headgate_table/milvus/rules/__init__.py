"""The rules of Milvus transactions: the effect of updates on a manifest, and the resolution of conflicts.

Direct transactions and the committer call it. It is pure.

Begin with `decide`, then `updating` and `resolvers`.
"""
