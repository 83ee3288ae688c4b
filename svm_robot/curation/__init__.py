"""Datasets examined, mended, rebuilt and imported. A source is never edited in place.

Its rooms, from the ground up; one imports only those named before it:

1. ``check``: what is wrong with a dataset.
2. ``rebuild``: datasets read as sources, and new ones made of them: cut, joined, split.
3. ``labels``: labels as lines and as tables, out of a dataset and into it.
4. ``mend``, ``formats``, ``review``, ``statistics``, which do not know each other: what is damaged is mended, what
   others recorded is imported and exported, a person goes through the episodes in a terminal, and figures of a dataset.
"""
