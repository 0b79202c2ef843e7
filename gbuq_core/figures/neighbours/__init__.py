"""What the page Neighbours draws."""
