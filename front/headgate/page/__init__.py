"""The live page: what committers, workers and tables do, for people who look at it in a browser. Read-only.

`page_state` is the model and knows no I/O; `following` and `looking` feed it, `routes` shows it, `serving` puts them together.
"""
