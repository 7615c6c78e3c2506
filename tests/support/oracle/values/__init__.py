"""The plain values of the oracle: cells, the wicked pools they are drawn from, columns and predicates. No code of the product."""
