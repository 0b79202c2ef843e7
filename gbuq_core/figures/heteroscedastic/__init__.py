"""What the page Heteroscedastic draws."""
