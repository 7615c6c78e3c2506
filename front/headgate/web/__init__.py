"""Serves HTTP from a process with other work: the server, and the access rules.

The live page and the health endpoint call it. Addresses other than loopback need a token, except for health. It stops
quickly.

Begin with `server`, then `guard`.
"""
