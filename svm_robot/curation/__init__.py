"""Datasets examined, mended, rebuilt and imported. A source is never edited in place."""
