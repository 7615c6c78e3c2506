"""A real browser for the tests of what is shown in one."""
