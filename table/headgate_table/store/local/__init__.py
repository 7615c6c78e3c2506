"""The store in a local folder, and the other contents of such a folder.

`headgate_table.store.open` imports it for paths and `file:` addresses. A file appears complete or not at all, and
survives a power cut once it was confirmed. Links that leave the root are not followed.

Begin with `store`, then `files`. `doubts` is apart because it handles only the files of a failed fsync.
"""
