"""What only the page "Beyond the rows" uses."""
