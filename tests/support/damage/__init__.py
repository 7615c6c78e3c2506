"""Damage to tables, made systematically: small tables of every kind, every way to damage an object, and the judge of both."""
