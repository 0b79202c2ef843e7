"""What only the page "Heteroscedastic" uses."""
