"""The batch job: takes the records of a Kafka topic into a table, each exactly once, however often it is killed.

Users call it as `headgate.BatchJob`. The table itself says how far the job is, by the last seq of its writer. Small
objects beside the table keep what later runs must agree on, such as where a batch ends.

Begin with `job`, then `record_source` (what a source must do) and `kafka_source`.
"""
