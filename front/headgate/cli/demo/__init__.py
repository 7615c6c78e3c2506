"""`headgate demo`: writers, a committer that is killed half way, workers that clean up, and a check of the result.

`headgate.cli.main` calls it. It runs the real commands as processes in a scratch folder, and ends every one of them.

Begin with `demo`.
"""
