"""Two clocks: is the stated uncertainty true, and how many trees make it so?"""
