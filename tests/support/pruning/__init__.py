"""What the tests of predicates and pruning share."""
