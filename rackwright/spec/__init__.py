"""Stage 1: `clusters/*.yaml` and asset files in, a frozen `ClusterSpec` out."""
