"""Hours of steady work by real processes, and whether what they hold stays the same."""
