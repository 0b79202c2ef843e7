"""`gbuq warm`: compile the kernels now, so that no first fit waits for it."""

from __future__ import annotations

import argparse
import time
from typing import Any

from gbuq_core.commands.common_options import add_common, shows_progress
from gbuq_core.commands.json_output import print_json
from gbuq_core.commands.watching import say_progress
from gbuq_core.errors import InvalidParameter
from gbuq_core.kernel_steps import STEPS, steps_of
from gbuq_core.methods import METHODS, SAMPLERS
from gbuq_core.presentation import counted

_LOOK_SECONDS = 0.2  # between two looks at the progress
_DESCRIPTION = """\
Compile the kernels, in as many processes as there are cores. This is done once per machine; without
this command the first fit waits for it. Where it is part of an image, compile on the kind of
processor that will run it.
"""


def add_warm(commands: Any) -> None:
    """The command `warm`."""
    warm = commands.add_parser("warm", help="compile the kernels now", description=_DESCRIPTION)
    add = warm.add_argument
    add(
        "--methods",
        nargs="+",
        metavar="METHOD",
        help="only the kernels of these methods; gbuq methods lists their keys",
    )
    add_common(add, trains=False)
    warm.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Compile what is not in the cache, and tell how long it took."""
    from gbuq_core.compilers import COMPILERS, compiling_words, is_compiled

    for method in options.methods or ():
        if method not in METHODS and method not in SAMPLERS:
            raise InvalidParameter(
                f"There is no method {method!r}: gbuq methods lists the keys of all methods."
            )
    names = list(STEPS) if options.methods is None else steps_of(options.methods)
    missing = [name for name in names if not is_compiled(name)]
    began = time.perf_counter()
    COMPILERS.begin(missing, asked=True)
    while not COMPILERS.wait(_LOOK_SECONDS):
        if shows_progress(options):
            say_progress(compiling_words() or "")
    if shows_progress(options):
        say_progress("")
    seconds = time.perf_counter() - began
    failed = [name for name in missing if not is_compiled(name)]
    if failed:
        raise InvalidParameter(
            f"These kernels could not be compiled and kept: {', '.join(failed)}. Let "
            "NUMBA_CACHE_DIR name a folder with room that can be written."
        )
    if options.json:
        print_json({"steps": names, "compiled": missing, "seconds": seconds})
    elif not missing:
        print(f"All kernels are compiled already ({counted(len(names), 'step')}).")
    else:
        print(f"Compiled the kernels ({counted(len(missing), 'step')}) in {seconds:.0f} s.")
