"""What only the page "Scoreboard" uses."""
