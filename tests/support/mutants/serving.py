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
    Mutant(
        "one-failure-at-start-ends-it",
        Rule.OUTAGES,
        "A store that fails once while a root is tried ends the process.",
        "front/headgate/roots.py",
        "attempts=ATTEMPTS, first_pause_s",
        "attempts=1, first_pause_s",
        ("tests/front/test_roots.py",),
        NONE,
    ),
    Mutant(
        "bus-is-asked-once-at-start",
        Rule.OUTAGES,
        "A bus that doesn't answer once while a process starts ends it.",
        "front/headgate/made_bus.py",
        "attempts=ATTEMPTS, first_pause_s",
        "attempts=1, first_pause_s",
        ("tests/front/test_made_bus.py",),
        NONE,
    ),
    Mutant(
        "refused-connection-waited-for",
        Rule.OUTAGES,
        "An Azure endpoint that refuses connections is waited for by the client's own pauses, a minute in all.",
        "table/headgate_table/store/azure_login.py",
        '        "initial_backoff": 0,\n',
        '        "initial_backoff": 60,\n',
        (
            "tests/table/store/test_azure_answers.py::test_an_endpoint_that_refuses_connections_is_told_of_before_anybody_wonders",
        ),
        NONE,
    ),
    Mutant(
        "function-keeps-a-name-of-one-query",
        Rule.ANSWERS,
        "A temporary function over a path is made of a name that only its own statement knows, and fails at each call.",
        "front/headgate/spark/path_queries.py",
        '{"VIEW", "FUNCTION"}',
        '{"VIEW"}',
        ("tests/spark/test_spark_sql_statements.py::test_a_temporary_function_reads_the_version_that_it_was_made_of",),
        NONE,
    ),
    Mutant(
        "unmounted-root-is-no-outage",
        Rule.OUTAGES,
        "proposals for tables of a root that is a file just now are set aside instead of waiting",
        "committer/headgate_committer/tables.py",
        "if not lies_below(os.path.dirname(error.path), self._roots):",
        "if not self._roots:",
        tests=("tests/system/test_allowed_roots.py",),
        seeds=NONE,
    ),
)
