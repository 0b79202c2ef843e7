"""What the page Soft trees draws."""
