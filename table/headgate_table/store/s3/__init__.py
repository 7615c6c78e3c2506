"""The store in an S3 bucket. `headgate_table.store.open` imports it for `s3:` addresses.

It keeps the promises of `headgate_table.store.interface`. Its library is imported only when such an address is
opened.

Begin with `store`; `errors` says which failures leave a write in doubt. `session` is short and apart because it
replaces a slow part of the library.
"""
