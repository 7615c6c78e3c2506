"""The bounds of a manifest. No input makes a reader allocate or loop beyond them; Headgate's writers never exceed them."""

MAX_MANIFEST_BYTES = 64 << 20
"""Of one file, unpacked. A data file takes about 60 bytes, so this holds a million of them."""
MAX_ITEMS = 1_000_000
"""Records, list items and map entries of one manifest, counted together: an item of one byte in the file takes a hundred
in memory, which is why bytes alone don't bound it."""
MAX_TEXT_BYTES = 64 << 10
"""Of one path, name, key or property. Object stores stop at 1 KiB, file systems at 4."""
MAX_VERSION = 2**63 - 2
"""Of a table: its successor must still be a number that every known reader takes."""
