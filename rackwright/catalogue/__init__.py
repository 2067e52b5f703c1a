"""Stage 1: data files with source and date in, a frozen `Catalogue` out."""
