"""The plugins of the suite: which optional suites run, what runs side by side, and the servers and builders that tests share."""

import signal

import hypothesis

pytest_plugins = [
    "support.suites",
    "support.processes.side_by_side",
    "support.processes.command_line",
    "support.servers.fixtures",
    "support.kafka.fixtures",
    "support.spark.fixtures",
    "support.browser.fixtures",
    "support.mirror_readers.fixtures",
]

# Machines that run tests are slow at times; a property is never wrong because of the clock.
hypothesis.settings.register_profile(
    "headgate", deadline=None, print_blob=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("headgate")

# A shell's background jobs ignore Ctrl-C, and so would every process that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
