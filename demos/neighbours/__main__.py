"""``python -m demos.neighbours --out lesson.html`` writes the lesson to a file."""

from demos.lesson import main
from demos.neighbours import LESSON

raise SystemExit(main(LESSON))
