"""Records on Kafka: appended, published in transactions, and read from given offsets.

Seats, followers, readers and batch jobs use it. Every call has a deadline. An outcome that isn't known in time is an
error.

Begin with `publisher` for writing and `reader` for reading. `records` translates between the client's records and ours.
"""
