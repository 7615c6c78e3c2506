"""Parts of the benchmarks: what is measured of each engine, in processes of its own, and how figures are kept and drawn."""
