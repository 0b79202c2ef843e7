"""What only the page "Noise that grows" uses."""
