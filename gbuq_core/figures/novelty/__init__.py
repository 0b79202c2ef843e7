"""What the page Novelty maps draws."""
