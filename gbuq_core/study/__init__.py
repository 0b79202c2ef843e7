"""Experiments, each one file that is read from top to bottom: data, settings, fit, numbers, claims,
picture, words. `study` says what all have, `members` what fits return; `maps` and `bands` draw.
"""
