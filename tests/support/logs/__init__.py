"""Table logs in tests: put together by hand, decoded by other libraries, and compared with what known readers accept."""
