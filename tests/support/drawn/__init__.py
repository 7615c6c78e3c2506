"""Random input of tests: strategies for operations, states and partition values, histories of cleaning, and mutated messages."""
