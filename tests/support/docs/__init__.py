"""Pages of documentation in tests: their fenced blocks, the queries of alerts, and the site as mkdocs builds it."""
