"""A committer over a bus and stores in memory, for tests that say step by step what happens."""
