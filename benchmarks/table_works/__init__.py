"""The works of `table.py`: each module is one work, and says what each engine does for it."""
