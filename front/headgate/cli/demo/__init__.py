"""`headgate demo`: writers, a committer that is killed half way, workers that tidy up, and a look at what came of it.

`headgate.cli.main` calls it. It runs the real commands as processes in a scratch folder, and ends every one of them.

Begin with `demo`.
"""
