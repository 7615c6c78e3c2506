"""The world of a simulated run: the scheduler and its time, the simulated bus and stores, and the faults of single calls.

Begin with `world` and `scheduler`.
"""
