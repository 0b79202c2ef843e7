"""What only the page "Neighbours" uses."""
