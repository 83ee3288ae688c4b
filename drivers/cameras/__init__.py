"""Cameras: which device plays which role, what it really delivers, and whether it still does."""
