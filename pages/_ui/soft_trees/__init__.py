"""What only the page "Soft trees" uses."""
