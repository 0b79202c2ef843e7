"""What only the page "Your data" uses."""
