"""Processes of the `headgate` command: committer, worker, both at once; how each begins, stops, logs and ends.

The commands `committer`, `worker` and `up` call it. A process that is told to stop settles what it has begun, then
leaves.

Begin with `committer_process`, `worker_process` and `combined_process`. The short modules each own one thing of a
process, such as signals (`stop_signals`), and `process_exit` is imported by the entry point alone, which must stay
light.
"""
