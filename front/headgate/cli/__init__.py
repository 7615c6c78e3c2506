"""The `headgate` command. What it does is done elsewhere; here it is asked for, shown and explained."""
