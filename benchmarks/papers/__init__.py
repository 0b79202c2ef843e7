"""The papers' tables, computed anew: ``benchmarks/papers.csv`` has a row for each of their cells.

    python -m benchmarks.papers --paper ibug --table 1 --set concrete --method ibug --data-dir DIR

computes the cells that the options name and prints their rows, the paper's number beside ours.
``--measure`` prints one measure, ``--jobs`` computes so many splits at once, ``--write`` puts the
rows into the file, and ``--board`` prints them in the form of the scoreboard's file, which has the
numbers of ``--paper ours``. ``--pages`` computes nothing: it writes the tables of README and
docs/scoreboard.md from the file.

``sglb``, ``cyclical``, ``ibug``, ``soft_trees`` and ``macau`` are papers 1 to 5. ``ours`` is every
method of this project on every set, ``tails`` and ``shapes`` are rows outside the training data and
targets of known shapes. The module of a paper says how its settings differ from the paper's. A
method is named by its key in `gbuq_core.methods`, with a variant of it after a colon. Each split is
computed in a process of its own with one thread: ``seconds`` are processor seconds of the median
split with the start of its process, and ``error`` is the standard error of the mean over ``seeds``
splits.

``DIR`` has ``<set>.csv.gz`` and ``<set>_splits.npz``. ``--download`` fetches what it lacks: rows of
OpenML are checked against the papers' by SHA-256, and splits are drawn from the papers' seed.
"""
