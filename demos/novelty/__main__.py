"""``python -m demos.novelty --out lesson.html`` writes the lesson to a file."""

from demos.lesson import main
from demos.novelty import LESSON

raise SystemExit(main(LESSON))
