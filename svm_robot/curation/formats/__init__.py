"""Recordings in the formats of others, as sources that a dataset of ours can be built from."""
