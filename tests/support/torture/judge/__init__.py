"""What a run of the torture is judged by: journals and messages that are left, and verdicts that share no code with the product.

`verdict` judges proposals, `upkeep_verdict` a table under maintenance, `keeping` what cleaners must leave.
"""
