"""Looks at everything a rig names and moves nothing: one file per kind of check."""
