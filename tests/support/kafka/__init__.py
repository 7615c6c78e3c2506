"""A real Kafka broker for tests, on any machine: one that was given, one in a container, or a local one on a JVM."""
