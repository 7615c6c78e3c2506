"""Health and metrics of a process: facts, the judgement whether it is alive and ready, and how both are told over HTTP.

The processes and the live page call it. Judging is pure (`judgement`). Probes of bus and stores have threads of their
own, so that a question without an answer is a finding too.

Begin with `monitoring`, then `judgement` and `measuring`. `monitored` and `asking_health` are short and apart because
they must not import a server or a metrics library. `process_parts` is what the page sees of the parts that are watched.
"""
