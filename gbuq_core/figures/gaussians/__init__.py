"""What the page 25 Gaussians draws."""
