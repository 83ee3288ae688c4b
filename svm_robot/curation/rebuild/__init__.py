"""New datasets out of others: ``source`` reads one, ``edit`` plans, ``rebuild`` makes it, ``place`` swaps.

The others are parts of these: ``rows``, ``clips`` and ``still`` bring the contents over, ``bake`` writes labels into
columns, ``ancestry`` keeps where it all came from, ``differences`` and ``parts`` say what may be joined and what cut.
"""
