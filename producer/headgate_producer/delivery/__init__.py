"""What happens between `Producer.propose` and the receipt: drafting, sending, sending again, and reading receipts.

Only `headgate_producer.producer` puts these parts together. Decisions are in `outbox` and `writer_turns`, which are
pure and are handed the time. Threads, locks and calls of the bus are in the modules around them.

Begin with `outbox`, then `delivery_threads`, the only module that appends to the bus, and `receipt_reader`. `ticket` is
short: it is the only part that users hold.
"""
