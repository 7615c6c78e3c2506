"""Mutants of what a process tells of itself over HTTP, and of how it begins."""

from support.mutants.mutant import NONE, Mutant, Rule

_SERVER = "front/headgate/web_server.py"
_LOAD = "tests/front/test_health_under_load.py"

MUTANTS = (
    Mutant(
        "health-among-long-requests",
        Rule.OUTAGES,
        "Who asks how the process is gets 503 while others hold it with long requests.",
        _SERVER,
        '        if len(self._calls) >= MAX_REQUESTS and scope["path"] not in self._vital:\n',
        "        if len(self._calls) >= MAX_REQUESTS:\n",
        (_LOAD,),
        NONE,
    ),
    Mutant(
        "waiting-connections-without-a-bound",
        Rule.OUTAGES,
        "Any number of connections may wait, until the process can open no file any more.",
        _SERVER,
        "        self._make_room()\n",
        "",
        (_LOAD,),
        NONE,
    ),
    Mutant(
        "half-a-body-stays",
        Rule.OUTAGES,
        "A request whose body doesn't come holds its connection for ever.",
        _SERVER,
        "cycle.response_complete or cycle.more_body",
        "cycle.response_complete",
        (_LOAD,),
        NONE,
    ),
)
