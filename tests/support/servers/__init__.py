"""Real servers for tests: fetched once into the user's cache, started on free ports, ended by their own process id."""
