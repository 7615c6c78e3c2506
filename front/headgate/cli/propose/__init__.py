"""`headgate propose`: proposes one change of a table to a committer and prints the receipt.

`headgate.cli.main` calls it; other commands print their receipts with it. Contradictory options are refused before
anything is sent. The exit code gives the outcome of the proposal.

Begin with `proposing`.
"""
