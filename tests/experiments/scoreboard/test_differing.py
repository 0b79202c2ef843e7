"""What did not reproduce: each number counted once, with what explains it."""

from scoreboard_parts import made_up_board

from gbuq_core.experiments.scoreboard.comparing import BETTER, WORSE
from gbuq_core.experiments.scoreboard.differing import count_agreement, list_differences

BOARD = made_up_board(findings=[("Why", "Because.", ["sglb/boston/*/*"])])


def test_differences_are_those_that_the_tables_judge_so():
    found = list_differences(BOARD)
    expected = {
        (table.key, *where)
        for table in BOARD.tables
        for where in table.published
        if (beside := table.beside(*where)) is not None and beside.word in (BETTER, WORSE)
    }
    assert {tuple(each.place) for each in found} == expected
    assert len(found) == len(expected) > 10
    words = [each.beside.word for each in found]
    assert words == sorted(words, reverse=True)  # worse ones first
    for each in found:
        assert bool(each.findings) == (each.place[:2] == ("sglb", "boston"))
    assert {each.place.table for each in list_differences(BOARD, "ibug")} == {"ibug"}


def test_counts_add_up():
    found = {each.table: each for each in count_agreement(BOARD)}
    differing = list_differences(BOARD)
    for table in BOARD.tables:
        here = [each.beside.word for each in differing if each.place.table == table.key]
        counts = found[table.key]
        assert (counts.better, counts.worse) == (here.count(BETTER), here.count(WORSE))
        judged = [where for where in table.published if (b := table.beside(*where)) and b.word]
        assert counts.judged == len(judged)
    assert found["cyclical"].judged == 0  # the paper's set is not here
