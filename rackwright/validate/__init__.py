"""A suite in, evidence and measurements out: nothing is judged here."""
