"""A bus that fails by plan, a decider without a table, and proposals, for tests of the producer room."""
