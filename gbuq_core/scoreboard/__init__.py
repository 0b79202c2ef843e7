"""Every method with its default settings on nine test tables: error, standard error and seconds.

``board`` reads the numbers of ``board.csv`` and ranks methods by them.
"""
