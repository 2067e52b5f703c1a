"""Measurements and expectations in, verdicts and reports out. Pure: a run folder is judged anywhere."""
