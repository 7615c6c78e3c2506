"""Where tables live: one narrow interface, and the stores behind it."""
