"""A scored table looked at again without training: cut ensembles, code, words."""
