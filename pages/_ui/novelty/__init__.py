"""What only the page "Novelty maps" uses."""
