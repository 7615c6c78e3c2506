"""Workers: react to commits and keep tables healthy by proposing, like any other writer. Never needed for correctness."""
