"""Labels given by a person who watches the episodes: ``review`` says what keys do, ``watch`` shows it in a terminal.

``film`` and ``player`` say which picture is due, ``board`` where it stands, ``half_blocks`` draws it in characters.
"""
