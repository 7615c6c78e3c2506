"""The deterministic simulation: real committers and producers in one thread, over a simulated store, bus, clock and ids."""
