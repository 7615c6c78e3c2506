"""Processes of the `headgate` command: committer, worker, and both together; how each starts, stops, logs and ends.

The commands `committer`, `worker` and `up` call it. A process that is asked to stop finishes the work that it has
begun, then ends.

Begin with `committer_process`, `worker_process` and `combined_process`. Each short module owns one thing of a process,
such as signals (`stop_signals`). Only the entry point imports `process_exit`, because it must stay light.
"""
