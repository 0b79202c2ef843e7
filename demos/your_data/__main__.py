"""``python -m demos.your_data --out lesson.html`` writes the lesson to a file."""

from demos.lesson import main
from demos.your_data import LESSON

raise SystemExit(main(LESSON))
