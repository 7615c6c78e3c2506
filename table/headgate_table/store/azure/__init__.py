"""The store in a container of Azure Blob Storage. `headgate_table.store.open` imports it for addresses of Azure.

It keeps the promises of `headgate_table.store.interface`. Its library is imported only when such an address is
opened.

Begin with `store`; `errors` says which failures leave a write in doubt, and `login` which credential is used.
"""
