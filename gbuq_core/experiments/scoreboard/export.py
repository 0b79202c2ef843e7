"""Python that reads the same numbers from the board."""

from __future__ import annotations

from collections.abc import Sequence

from gbuq_core.experiments.scoreboard.plan import BoardSettings


def scoreboard_code(settings: BoardSettings) -> str:
    """Code for the ranks and the numbers beside the paper's, without the app."""
    table, score = settings.table, settings.score
    methods, sets = settings.methods, settings.sets
    those_methods = f'[method.key for method in table.methods_with("{score}")]'
    those_sets = f'[each.key for each in table.sets_with("{score}")]'
    if methods is not None:
        those_methods = _list(methods)
    if sets is not None:
        those_sets = _list(sets)
    arguments = ", ".join(["table", f'"{score}"', "methods", *([] if sets is None else ["sets"])])
    return (
        "from gbuq_core.experiments.scoreboard.board import read_board\n"
        "from gbuq_core.experiments.scoreboard.ranking import rank_methods\n\n"
        f'table = read_board().table("{table}")\n'
        f"methods = {those_methods}\n"
        f"sets = {those_sets}\n"
        "for name in sets:\n"
        "    for method in methods:\n"
        f'        print(name, method, table.beside(name, method, "{score}"))  # ours / the '
        "paper's\n"
        f"print(rank_methods({arguments}).words)\n"
    )


def _list(keys: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{key}"' for key in keys) + "]"
