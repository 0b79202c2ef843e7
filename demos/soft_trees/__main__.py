"""``python -m demos.soft_trees --out lesson.html`` writes the lesson to a file."""

from demos.lesson import main
from demos.soft_trees import LESSON

raise SystemExit(main(LESSON))
