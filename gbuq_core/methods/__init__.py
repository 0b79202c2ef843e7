"""One record a method: its name, look, paper, tasks, knobs, estimator and cost, declared once.

Pages, figures, exported code and the command line read the records; nobody else writes a method's
label, colour, class or cost. Records are plain data: this room imports no estimator.

Examples
--------
Read one, and make its estimator:

>>> from gbuq_core.methods import METHODS, find_methods
>>> sglb = METHODS["virtual_sglb"]
>>> sglb.label, sglb.colour, sglb.tasks
('virtual SGLB', '#56b4e9', ('regression', 'classification'))
>>> sglb.make("regression", n_trees=200, depth=4, random_state=0)
BoostedEnsembleRegressor(depth=4, ensemble='virtual', n_trees=200,
                         random_state=0, stopping=None)

``make`` refuses what a knob cannot be, in one sentence. ``sglb.builder("regression")`` has
``module``, ``name``, ``fixed`` and ``takes`` for exported code, and ``arguments(given)`` all that
the class is given.

Which methods can do something, in the order that pages list them:

>>> [method.key for method in find_methods("novelty", yields=("novelty",))]
['isolation', 'distance']
>>> [method.label for method in find_methods("regression", yields=("knowledge", "functions"))]
['VST', 'VSGBM', 'XBART', 'Gaussian process']

What a method needs:

>>> METHODS["gp"].why_not(rows=9000)[:55]
'Gaussian process takes at most 5,000 rows, and this tab'

A page takes a knob from the record and narrows it to what it offers. The label, help and limits
stay the record's unless the page gives its own:

>>> from gbuq_core.knobs import narrow
>>> depth = narrow(sglb.knob("depth"), high=8, step=1, group="method")
>>> depth.label, depth.default, depth.high
('Depth', 6, 8)

To move a page here: replace its dictionary by ``{key: METHODS[key] for key in ...}`` with the keys
it shows, take ``label``, ``about`` and ``packages`` from the record, and build with ``make`` (or
``builder(...)`` in exported code). What only this page says about a method stays with the page.
`gbuq_core.study.heteroscedastic` is an example;
`gbuq_core.tables.predicting` is how the command line scores a table by any record.

A new method is a `Method` in ``RECORDS`` of one of this room's files (and its estimator's own
file). A notebook or a test adds one with `declare_method`, before it imports a page.

Samplers of a density fit no table. They have records of their own:

>>> from gbuq_core.methods import SAMPLERS
>>> SAMPLERS["cg"].label, SAMPLERS["cg"].knob("alpha_max").default
('cg-SGLD', 10.0)
"""

from gbuq_core.methods import boosted, forests, functions, neighbours, peers
from gbuq_core.methods.record import (
    METHODS,
    NOVELTIES,
    PARTS,
    TASKS,
    YIELDS,
    Builder,
    Method,
    declare_method,
    find_methods,
)
from gbuq_core.methods.samplers import SAMPLERS, Sampler

__all__ = [
    "METHODS",
    "NOVELTIES",
    "PARTS",
    "SAMPLERS",
    "TASKS",
    "YIELDS",
    "Builder",
    "Method",
    "Sampler",
    "declare_method",
    "find_methods",
]

# In the order that pages list them.
for _room in (boosted, neighbours, functions, forests, peers):
    for _method in _room.RECORDS:
        declare_method(_method)
