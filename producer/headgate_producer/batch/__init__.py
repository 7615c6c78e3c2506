"""The batch job: loads the records of a Kafka topic into a table, each exactly once, however often it is killed.

Users call it as `headgate.BatchJob`. The table itself holds the job's progress, as the last seq of its writer. Small
objects beside the table keep decisions that bind later runs, such as the end of a batch.

Begin with `job`, then `record_source` (the interface of a source) and `kafka_source`.
"""
