"""What only the page "25 Gaussians" uses."""
