"""Plan and Observed in, files out: Jinja2 with StrictUndefined, no logic in templates."""
