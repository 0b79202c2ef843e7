"""What only the Scoreboard does: its questions, its plot, and the numbers of one's own table."""
