"""The scoreboard: this project's numbers beside the papers', and what they say about methods.

``board`` reads the numbers, which ``python -m benchmarks.tables --publish`` writes to
``board.json``; ``comparing`` sets two numbers beside each other. The other files ask the board one
question each. No paper's section: it holds the tables of all five.
"""
