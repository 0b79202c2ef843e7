"""What only the page "Own points" uses."""
