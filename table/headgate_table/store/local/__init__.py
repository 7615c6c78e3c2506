"""The store in a local folder, and what else such a folder may hold.

`headgate_table.store.open` imports it for paths and `file:` addresses. A file appears whole or not at all, and
survives a power cut once it was confirmed. Links that leave the root are not followed.

Begin with `store`, then `files`. `doubts` is apart because it is about what a failed fsync leaves behind.
"""
