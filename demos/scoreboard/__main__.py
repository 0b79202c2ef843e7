"""``python -m demos.scoreboard --out lesson.html`` writes the lesson to a file."""

from demos.lesson import main
from demos.scoreboard import LESSON

raise SystemExit(main(LESSON))
