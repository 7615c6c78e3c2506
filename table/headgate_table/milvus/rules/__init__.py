"""The rules of Milvus transactions: what updates make of a manifest, and who wins when others committed meanwhile.

Direct transactions and the committer call it. It is pure.

Begin with `decide`, then `updating` and `resolvers`.
"""
