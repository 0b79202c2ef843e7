"""The experiments of the pages, without the pages: settings in, numbers out.

Each folder is one experiment. Its files say what they do: ``plan`` (settings, and what a fit
depends on), ``data``, ``fit``, ``scores``, ``claims``, ``words``, ``export``. A page, its lesson
and the code it offers for copying call the same functions. The files beside the folders are what
several experiments share. Each folder names its paper and section.
"""
