"""Stage 2: `ClusterSpec`, `Catalogue` and lock in, a `Plan` and the new lock out. Pure."""
