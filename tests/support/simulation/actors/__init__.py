"""Who acts in a simulated run: authors, streams, committers, workers, operators, other programs, and what befalls them.

`workloads` and `work` are what is done, `nemesis` and `surgery` what goes wrong; the other modules are one kind of actor each.
"""
