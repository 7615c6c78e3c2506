"""The way from `Producer.propose` to the receipt: writing the message, sending and resending it, and reading receipts.

Only `headgate_producer.producer` puts these parts together. `outbox` and `writer_turns` make the decisions; they are
pure and get the time as an argument. Threads, locks and calls of the bus are in the modules around them.

Begin with `outbox`, then `delivery_threads`, the only module that appends to the bus, and `receipt_reader`. `ticket` is
short because it is the only part in the hands of users.
"""
