"""Serving HTTP from a process that does other things: the server, who may ask, and what operators ask for.

The live page and the health endpoint call it. Addresses other than loopback need a token, apart from health. It stops
quickly.

Begin with `server`, then `guard`.
"""
