"""What the page Your data draws."""
