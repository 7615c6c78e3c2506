"""Where tables live: one narrow interface, and the stores behind it.

The log, claims and workers call stores only through `interface`. A conditional create answers created, exists
already, or unknown; the last is never taken for a failure. Keys that leave the root are refused.

Begin with `interface` and `open`. `probe` and `conditions` check that a store really keeps the conditional write. The
short modules wrap or describe any store, and are apart so that each backend shares them.
"""
