"""The stores of tables: one narrow interface, and its implementations.

The log, claims and workers call stores only through `interface`. A conditional create answers created, already exists,
or unknown; unknown never counts as a failure. Keys that leave the root are refused.

Begin with `interface` and `open`. `object_store` is the part that `s3` and `azure` share. `probe` and `conditions` check
that a store really supports conditional writes. The short modules wrap or describe any store, and are apart so that
each backend shares them.
"""
