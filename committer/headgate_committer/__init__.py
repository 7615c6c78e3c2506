"""The committer: decides proposals in order and writes versions. What a proposal does to a table is the table room's."""
