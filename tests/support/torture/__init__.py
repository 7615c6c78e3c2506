"""Real processes of the whole system, faults by a seed, and a judgement that owes nothing to our code."""
