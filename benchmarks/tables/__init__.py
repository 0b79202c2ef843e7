"""The papers' tables, reproduced: one runner over the method records, one protocol a paper.

    python -m benchmarks.tables --data-dir DIR [--download] --tables sglb [--sets boston,energy]
        [--methods sgb,sglb] [--splits 3] [--effort small] [--jobs 2] [--scheduler tcp://host:8786]
        [--time-limit 3600] [--resume] [--out FOLDER] [--report | --publish]

A cell is one method on one split of one set under one table's protocol. It runs in a process of its
own with a time limit, and its result is a small JSON file in ``--out`` (`benchmarks/results` by
default), so that ``--resume`` after a kill runs only what is missing. `benchmarks.protocols` has a
file for each paper: its sets, splits, methods, scores and published numbers, and in words how the
settings differ from the paper's. A method is named by its key in `gbuq_core.methods`; after a colon
stands a variant of it, as in ``sglb:single``.

The efforts: ``small`` has three splits and shortened grids, ``full`` the paper's grids, tuned anew
on every split, and ``smoke`` a few trees and rows, which shows that everything runs and nothing
else. ``--report`` prints the tables of what is stored and runs nothing, and ``--publish`` writes
them to the scoreboard of the package. With ``--scheduler`` the
cells run on the workers of a Dask cluster, which need this folder and the data at the same paths.

Who has no folder of sets gets one with ``--download --data-dir NEW``: OpenML's rows are checked
against the papers' by SHA-256, the splits are drawn anew from the papers' seed, and California
housing (``--tables macau``) comes from scikit-learn. Without ``--download`` it runs only if
``--sets`` names it.
"""
