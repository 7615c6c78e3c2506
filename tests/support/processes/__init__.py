"""Processes, threads and time in tests: commands of `headgate` that go on, what kills and freezes them, and waiting for a condition."""
