"""A Spark session on this machine, and what tests let its executors do."""
