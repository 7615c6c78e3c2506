"""Health and metrics of a process: the facts, the judgement whether it is alive and ready, and both over HTTP.

The processes and the live page call it. The judgement is pure (`judgement`). Probes of bus and stores have threads of
their own, so that an unanswered question is a finding too.

Begin with `monitoring`, then `judgement` and `measuring`. `monitored` and `asking_health` are short and apart because
they must not import a server or a metrics library. `process_parts` is the page's view of the monitored parts.
"""
