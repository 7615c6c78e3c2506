"""The ordered log between processes: Kafka, or SQLite on one machine. Knows bytes and offsets, not what they mean."""
