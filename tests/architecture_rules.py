"""The rules of the architecture, each a function from one module to what it complains about.

`test_architecture` applies them to the tree and to small modules that break them.
"""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import PurePosixPath
from typing import NamedTuple

# Rooms of the core from the ground up: a room imports from its own floor or a lower one. A new
# room gets its floor here.
METHODS = {"boosting", "ibug", "soft_trees", "macau", "sampling", "baselines"}
FLOORS = [
    {
        "errors",
        "validation",
        "array_checks",
        "seeding",
        "lazy",
        "numba_cache",
        "numba_start",
        "kernel_steps",
        "compiled_marks",
        "compiling",
        "resources",
        "glossary",
        "knobs",
        "methods",
        "presentation",
        "settings",
        "session_limits",
        "limited_process",
        "file_bytes",
    },
    {
        "progress",
        "compilers",
        "parallel",
        "jobs",
        "uncertainty",
        "distribution",
        "synthetic",
        "metrics",
        "trees",
        "inputs",
        "calibration",
        "model_files",
        "scoreboard",
    },
    METHODS,
    {"unfamiliarity", "given_models", "stacking"},
    {"several_targets"},
    {"tables"},
    {"streaming", "projects"},
    {"cluster"},
    {"lenses"},
    {"commands"},
    {"experiments"},  # only the app, lessons and measurements know them
    {"study"},
    {"__main__", "__init__"},
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# Results draw themselves: their method `plot` imports this in its body, so that the library starts
# without figures.
DRAWS_RESULTS = "gbuq_core.figures.plots"
FIGURES_MAY_USE = FLOORS[0] | {"uncertainty", "synthetic", "metrics", "figures"}
# Rooms that draw what they find: a picture lives with its experiment, a table's with its lens.
HOLD_FIGURES = {"lenses", "experiments", "study"}
HIDDEN_FROM_PAGES = {
    "trees",
    "seeding",
    "numba_cache",
    "numba_start",
    "progress",
    "parallel",
    "resources",
}

SLOW_LIBRARIES = ("catboost", "lightgbm", "xgboost", "sklearn.ensemble", "plotly.express")
# What `pip install .` leaves out: the extras. gbuq_core uses them late, if at all.
NOT_IN_THE_CORE = (
    *("streamlit", "plotly", "altair", "anywidget", "sqlalchemy", "dask", "distributed"),
    *("catboost", "stochtree", "mapie", "ngboost", "xgboost"),
)
NOT_FOR_PAGES = (
    *("catboost", "lightgbm", "xgboost", "sklearn", "numba", "scipy"),
    "gbuq_core.commands",
)
KERNELS_MAY_USE = (
    "numba",
    "llvmlite",
    "numpy",
    "math",
    "typing",
    "__future__",
    "gbuq_core.seeding",
    "gbuq_core.compiling",
    "gbuq_core.sampling.arrays",
)
UNPICKLERS = ("pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal")


class Module(NamedTuple):
    path: PurePosixPath
    text: str

    @property
    def top(self):
        return self.path.parts[0]

    @property
    def room(self):
        """Its place in the core: ``boosting`` for gbuq_core/boosting/base.py; None outside."""
        return PurePosixPath(self.path.parts[1]).stem if self.top == "gbuq_core" else None

    @property
    def is_kernels(self):
        return self.top == "gbuq_core" and self.path.name.endswith("_kernels.py")

    @property
    def is_page(self):
        return self.top == "pages" and len(self.path.parts) == 2


class Import(NamedTuple):
    name: str  # dotted, with the imported name: gbuq_core.errors.GbuqError
    at_import: bool  # outside functions


@cache
def parsed(module):
    return ast.parse(module.text)


@cache
def nodes_by_kind(module):
    by_kind, todo = defaultdict(list), [parsed(module)]
    for node in todo:  # as `ast.walk`, in a third of its time, without contexts of names
        by_kind[type(node)].append(node)
        for part in vars(node).values():
            for child in part if type(part) is list else (part,):
                if isinstance(child, ast.AST) and not isinstance(child, ast.expr_context):
                    todo.append(child)
    return by_kind


def nodes(module, kind):
    return nodes_by_kind(module).get(kind, [])


HOLD_IMPORTS = ("body", "orelse", "handlers", "finalbody", "cases")  # no expression does


@cache
def imports(module):
    """All imports but those for type checkers only."""
    names = []

    def visit(node, at_import):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Import):
            names.extend(Import(alias.name, at_import) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            for alias in node.names:
                names.append(Import(f"{base}.{alias.name}", at_import))
        inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for block in HOLD_IMPORTS:
            for child in getattr(node, block, ()):
                visit(child, at_import and not inside)

    visit(parsed(module), True)
    return names


def is_from(name, packages):
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def room_of(name):
    """The room an import leads to: ``boosting``; ``__init__`` for a public name; None outside."""
    parts = name.split(".")
    if parts[0] != "gbuq_core":
        return None
    known = FLOOR_OF.keys() | {"figures"}
    return parts[1] if len(parts) > 1 and parts[1] in known else "__init__"


def rooms_used(module):
    return {room for room in (room_of(i.name) for i in imports(module)) if room}


def streamlit_only_in_the_app(module):
    if module.top in (
        "app.py",
        "server.py",
        "pages",
        "tests",
        "docs",
    ):  # whose site has its pictures
        return []
    return [i.name for i in imports(module) if is_from(i.name, ("streamlit", "pages", "app"))]


def imports_point_down(module):
    if module.room in (None, "figures"):
        return []
    if module.room not in FLOOR_OF:
        return ["a new room: give it a floor in FLOORS"]
    floor = FLOOR_OF[module.room]
    bad = [r for r in rooms_used(module) if r != "figures" and FLOOR_OF[r] > floor]
    if module.room in HOLD_FIGURES:
        return bad
    to_figures = (i for i in imports(module) if room_of(i.name) == "figures")
    return bad + [
        i.name for i in to_figures if i.at_import or not is_from(i.name, (DRAWS_RESULTS,))
    ]


def methods_do_not_know_each_other(module):
    if module.room not in METHODS:
        return []
    return [r for r in rooms_used(module) if r in METHODS and r != module.room]


def figures_know_no_estimator(module):
    if module.room != "figures":
        return []
    return [r for r in rooms_used(module) if r not in FIGURES_MAY_USE]


def pages_use_public_names(module):
    if module.top not in ("pages", "app.py", "server.py"):
        return []
    bad = []
    for name in (i.name for i in imports(module)):
        of_core = name.startswith("gbuq_core.")
        private = of_core and any(
            p.startswith("_") or p.endswith("_kernels") for p in name.split(".")
        )
        hidden = of_core and room_of(name) in HIDDEN_FROM_PAGES
        other_page = is_from(name, ("pages",)) and not is_from(name, ("pages._ui",))
        outside = is_from(name, (*NOT_FOR_PAGES, "tests", "benchmarks"))
        if private or hidden or other_page or outside:
            bad.append(name)
    return bad


def demos_know_the_core_only(module):
    if module.top != "demos":
        return []
    return [i.name for i in imports(module) if is_from(i.name, ("tests", "benchmarks"))]


def slow_libraries_are_imported_late(module):
    if module.top in ("tests", "benchmarks"):
        return []
    return [i.name for i in imports(module) if i.at_import and is_from(i.name, SLOW_LIBRARIES)]


def the_core_starts_without_the_extras(module):
    if module.top != "gbuq_core":
        return []
    return [i.name for i in imports(module) if i.at_import and is_from(i.name, NOT_IN_THE_CORE)]


def only_the_cluster_knows_dask(module):
    """One room imports Dask, and only a command imports that room, once it is asked to."""
    if module.top == "tests":
        return []
    bad = [i.name for i in imports(module) if is_from(i.name, ("dask", "distributed"))]
    bad = [] if module.room == "cluster" else bad
    if module.room == "cluster" or module.top == "benchmarks":
        return bad
    to_room = (i for i in imports(module) if is_from(i.name, ("gbuq_core.cluster",)))
    return bad + [i.name for i in to_room if i.at_import or module.room != "commands"]


def kernels_import_kernels(module):
    if not module.is_kernels:
        return []
    names = [i.name for i in imports(module) if not is_from(i.name, KERNELS_MAY_USE)]
    return [n for n in names if not re.match(r"gbuq_core\.(\w+\.)*\w+_kernels\.\w+$", n)]


def compiled_functions(module, kinds="n?jit|vectorize|guvectorize|stencil"):
    """Functions under a numba decorator, with the decorator."""
    for function in nodes(module, ast.FunctionDef):
        for decorator in function.decorator_list:
            if re.search(rf"\b({kinds})\b", ast.unparse(decorator)):
                yield function, decorator


def inlined_functions(module):
    """Functions that write instructions into the kernels that call them."""
    return compiled_functions(module, "intrinsic")


def kernels_live_in_kernel_files(module):
    if module.is_kernels or module.room == "seeding" or module.top != "gbuq_core":
        return []
    kernels = (*compiled_functions(module), *inlined_functions(module))
    return [function.name for function, _ in kernels]


def kernels_release_the_lock_and_are_cached(module):
    if module.top == "tests":
        return []
    bad = []
    for function, decorator in compiled_functions(module):
        keywords = getattr(decorator, "keywords", [])
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in keywords}
        if given.get("nogil") != "True" or given.get("cache") != "True":
            bad.append(function.name)
        if re.search(r"True|nnan|fast", given.get("fastmath", "")):
            bad.append(f"{function.name}: fastmath")
    return bad


def kernels_take_few_arguments(module):
    # "About ten": a kernel with more takes a NamedTuple of arrays.
    return [f.name for f, _ in compiled_functions(module) if len(f.args.args) > 12]


def kernels_draw_from_counters(module):
    if not module.is_kernels:
        return []
    used = [ast.unparse(node) for node in nodes(module, ast.Attribute)]
    return [name for name in used if re.match(r"(np|numpy)\.random\b", name)]


def no_parallel_kernels(module):
    names = [node.id for node in nodes(module, ast.Name) if node.id == "prange"]
    names += [i.name for i in imports(module) if i.name.endswith("prange")]
    names += [node.attr for node in nodes(module, ast.Attribute) if node.attr == "prange"]
    return names + true_keywords(module, {"parallel"})


def true_keywords(module, names):
    return [
        node.arg
        for node in nodes(module, ast.keyword)
        if node.arg in names and ast.unparse(node.value) != "False"
    ]


def nothing_is_unpickled(module):
    if module.top == "tests":
        return []
    bad = [i.name for i in imports(module) if is_from(i.name, UNPICKLERS)]
    bad = [name for name in bad if not is_from(name, ("joblib.parallel",))]  # threads, no files
    bad += [n.attr for n in nodes(module, ast.Attribute) if n.attr in ("read_pickle", "to_pickle")]
    calls = [ast.unparse(node.func) for node in nodes(module, ast.Call)]
    return (
        bad + true_keywords(module, {"allow_pickle"}) + [c for c in calls if c in ("eval", "exec")]
    )


def user_text_is_not_html(module):
    return true_keywords(module, {"unsafe_allow_html", "unsafe_allow_javascript"})


def numbers_and_tables_are_written_in_one_place(module):
    """Pages format no number to so many digits, and nobody draws a Markdown table by hand."""
    if module.top == "tests" or module.room == "presentation":
        return []
    texts = [node.value for node in nodes(module, ast.Constant) if isinstance(node.value, str)]
    bad = [text for text in texts if re.search(r"\|:?--|--:?\|", text)]
    if module.top == "pages":
        formats = (node.format_spec for node in nodes(module, ast.FormattedValue))
        formats = (ast.unparse(format_) for format_ in formats if format_ is not None)
        bad += [format_ for format_ in formats if re.search(r"\.[1-5]g", format_)]
    return bad


def small_tolerances_say_why(module):
    """A tolerance below 1e-7 has a name of tests/tolerances.py or a comment at most 3 lines off."""
    if module.top != "tests":
        return []
    given = [(word.arg, word.value) for word in nodes(module, ast.keyword)]
    for pairs in nodes(module, ast.Dict):
        keys = [getattr(key, "value", None) for key in pairs.keys]
        given += zip(keys, pairs.values, strict=True)
    lines = module.text.splitlines()
    return [
        f"line {number.lineno}"
        for name, number in given
        if name in ("rtol", "atol", "rel", "abs")
        and isinstance(number, ast.Constant)
        and isinstance(number.value, float)
        and 0.0 < number.value < 1e-7
        and not any("#" in line for line in lines[max(number.lineno - 4, 0) : number.lineno + 1])
    ]


def nothing_is_left_to_do(module):
    return re.findall(r"\bTOD[O]\b|\bFIXM[E]\b", module.text)


DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def count_code_lines(module):
    """Lines that are not docstring, comment or blank."""
    documented = [node for kind in DOCUMENTED for node in nodes(module, kind)]
    docstrings = [node.body[0] for node in documented if ast.get_docstring(node, clean=False)]
    skipped = {n for d in docstrings for n in range(d.lineno, d.end_lineno + 1)}
    lines = enumerate(module.text.splitlines(), start=1)
    stripped = [line.strip() for number, line in lines if number not in skipped]
    return sum(bool(line) and not line.startswith("#") for line in stripped)


def files_are_short(module):
    """Pages by every line, other Python by its code, scripts and styles by every line.

    An experiment is one file, whatever it needs.
    """
    lines = len(module.text.splitlines())
    if module.top == "app.py" or module.is_page or module.path.suffix != ".py":
        limit = 60 if module.top == "app.py" else 150 if module.is_page else 400
        return [f"{lines} lines"] if lines > limit else []
    code = count_code_lines(module) if lines > 500 else lines
    limit = 900 if module.room == "study" else 500
    return [f"{code} lines of code"] if code > limit else []


def no_room_without_a_name(module):
    return [module.path.name] if module.path.stem in ("utils", "util", "misc") else []


# Rules of homes: who uses a file decides in which folder it lives. They see the whole tree, and
# return a complaint for each file that they do not like.
UI = PurePosixPath("pages/_ui")
RENDERERS = {"canvas", "curves", "handles"}  # every page's figures draw with them


def offered_names(modules):
    """The names that packages offer by their stubs, and where each leads: dotted names."""
    stubs = [module for module in modules if module.path.name == "__init__.pyi"]
    return {
        ".".join((*stub.path.parent.parts, i.name.rpartition(".")[2])): i.name
        for stub in stubs
        for i in imports(stub)
    }


def files_used(modules):
    """For each Python file the files that it imports, also through packages' stubs, by path."""
    offered = offered_names(modules)
    python = [module for module in modules if module.path.suffix == ".py"]
    by_name = {}
    for module in python:
        parts = module.path.with_suffix("").parts
        by_name[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = module.path
    used = {}
    for module in python:
        names = {i.name for i in imports(module)}
        while through := names & offered.keys():
            names = (names - through) | {offered[name] for name in through}
        paths = (by_name.get(name) or by_name.get(name.rpartition(".")[0]) for name in names)
        used[module.path] = {path for path in paths if path and path != module.path}
    return used


def a_circle(used):
    """Files each of which imports the next, the last one the first; empty if there are none."""
    left = dict(used)
    while ends := {path for path, others in left.items() if not others & left.keys()}:
        left = {path: others for path, others in left.items() if path not in ends}
    walk = [min(left)] if left else []
    while left and walk[-1] not in walk[:-1]:
        walk.append(min(left[walk[-1]] & left.keys()))
    return walk[walk.index(walk[-1]) + 1 :] if walk else []


def no_circle_of_imports(modules):
    """Imports in functions count."""
    used, bad = files_used(modules), {}
    while circle := a_circle(used):
        bad[circle[0]] = " -> ".join(map(str, (*circle, circle[0])))
        used[circle[-1]] = used[circle[-1]] - {circle[0]}
    return bad


def folder_of(path, room):
    """The folder of a room that a file lives in; None for a file at its top or elsewhere."""
    inside = path.is_relative_to(room) and len(path.relative_to(room).parts) > 1
    return path.relative_to(room).parts[0] if inside else None


def page_of(path):
    """The page that a file of pages/ belongs to; None for what several share."""
    return path.stem if path.parent == UI.parent else folder_of(path, UI)


def may_read(path, other):
    """Whether a file may import one of a page's folder: its own page, or lessons its knobs."""
    owner = folder_of(other, UI)
    return owner in (None, page_of(path)) or (
        page_of(path) == "lessons" and other.stem == "controls"
    )


def pages_using(modules):
    """For each file of pages/_ui the pages that use it, also through others; app.py is all."""
    used, pages = files_used(modules), defaultdict(set)
    for start in (path for path in used if path.parent == UI.parent or path.parts[0] == "app.py"):
        seen, todo = set(), [start]
        while todo:
            path = todo.pop()
            others = used[path] - seen
            # What another page's knobs are made of is not used by the lessons that read them.
            own = {o for o in others if folder_of(o, UI) in (None, page_of(start))}
            seen |= own
            todo += own
        for path in seen:
            pages[path].add(start.stem)
    return pages


def what_one_page_uses_lives_in_its_folder(modules):
    users = pages_using(modules)
    shared = [m.path for m in modules if m.path.parent == UI and m.path.suffix == ".py"]
    every = {"__init__", "study"}  # the page of every study, of which there may be one
    alone = (path for path in shared if path.stem not in every and len(users[path]) < 2)
    return {
        path: f"used by {', '.join(users[path]) or 'no page'}"
        for path in alone
        if "app" not in users[path]
    }


def pages_keep_out_of_other_pages_folders(modules):
    of_pages = {
        path: used for path, used in files_used(modules).items() if path.parts[0] == "pages"
    }
    bad = {path: {o for o in used if not may_read(path, o)} for path, used in of_pages.items()}
    return {path: sorted(map(str, others)) for path, others in bad.items() if others}


def folders_do_not_know_each_other(modules):
    bad = {}
    for path, used in files_used(modules).items():
        for room in ("gbuq_core/experiments", "gbuq_core/figures", "demos"):
            own = folder_of(path, room)
            others = {folder_of(other, room) for other in used} - {None, own}
            if room.endswith("figures"):
                others -= RENDERERS
            if own and others:
                bad[path] = sorted(others)
    return bad


def shared_files_say_what_they_are_for(modules):
    """Each file at the top of pages/_ui has its line in the folder's docstring."""
    heads = [m for m in modules if m.path == UI / "__init__.py"]
    docstrings = "".join(ast.get_docstring(parsed(head)) or "" for head in heads)
    listed = set(re.findall(r"^ *(\w+) {2,}\S", docstrings, re.MULTILINE))
    shared = {m.path.stem for m in modules if m.path.parent == UI and m.path.suffix == ".py"}
    wrong = (shared - {"__init__"}) ^ listed
    return {UI / "__init__.py": sorted(wrong)} if wrong else {}
