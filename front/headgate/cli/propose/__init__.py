"""`headgate propose`: asks a committer for one change of a table and prints its receipt.

`headgate.cli.main` calls it; other commands print receipts by it. Options that don't belong together are refused
before anything is sent. The exit code says what became of the proposal.

Begin with `proposing`.
"""
