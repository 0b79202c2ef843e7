"""``python -m demos.heteroscedastic --out lesson.html`` writes the lesson to a file."""

from demos.heteroscedastic import LESSON
from demos.lesson import main

raise SystemExit(main(LESSON))
