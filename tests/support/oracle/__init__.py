"""An oracle of rows: a model of a table on plain Python values, and random histories of real tables that are held against it.

`columns`, `pools`, `cells`, `conditions` and `model` know what the documentation says and nothing of the product: they
import none of its packages. `driver` does what a history says to a real table, `judge` compares.
"""
