"""Stage 3: spec and plan in, findings out; one rule is one function and one sentence."""
