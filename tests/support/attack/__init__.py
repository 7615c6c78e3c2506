"""All random generators at once, with fresh seeds, for as long as one likes."""
