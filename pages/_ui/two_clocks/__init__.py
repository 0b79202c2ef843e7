"""What only the page "Two clocks" uses."""
