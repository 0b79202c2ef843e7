"""Experiments of the pages, without the pages: a configuration in, numbers out.

One module for each; a page, its lesson and the code it offers for copying call the same function.
Papers: sglb_virtual_ensembles for `wave` and `heart`.
"""
