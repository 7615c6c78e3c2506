"""Serving HTTP from a process that does other things: the server, and who may ask.

The live page and the health endpoint call it. Addresses other than loopback need a token, apart from health. It stops
quickly.

Begin with `server`, then `guard`.
"""
