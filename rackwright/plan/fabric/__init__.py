"""Endpoints and switches in, fabrics out: how many switches, and every cable between them."""
