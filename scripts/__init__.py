"""THE VERBS: one thin file per command of ``svm-robot``, and the only place where all rooms meet."""
