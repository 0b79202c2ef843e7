"""What only the page "Spiral" uses."""
