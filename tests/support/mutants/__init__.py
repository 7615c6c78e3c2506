"""Deliberate bugs, each a few characters in one file, by which the tests are tested: whoever survives shows a missing check."""
