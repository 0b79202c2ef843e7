"""What only the page "Heart" uses."""
