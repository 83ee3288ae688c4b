"""Labels in words and tables: ``letters`` to type, ``table`` to read, ``to_csv`` and ``from_file``, ``ranges``."""
