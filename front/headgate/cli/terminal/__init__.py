"""The code that all commands share: options, settings, opening tables, parsing values, and printing results.

Every command module imports it. Data goes to standard output and notes to standard error; JSON output is one document.

Begin with `session`.
"""
