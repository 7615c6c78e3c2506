"""A lake with some life in it, and pages that show it, for the tests of the live page."""
