"""Who and what makes trouble in a simulated run: deaths and pauses, surgery on the bus, rivals, careless stores, other programs."""
