"""The tests that draw their cases by hypothesis, as a generator of its own: any seed, and as many cases as one likes."""
