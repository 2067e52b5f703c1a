"""A planned fabric against the world: its routing in simulation, its cables as they were built."""
