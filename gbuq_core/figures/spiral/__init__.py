"""What the page Spiral draws."""
