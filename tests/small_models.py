"""Models that pages and commands show beside a table's own, made small."""

from importlib import import_module

SMALL = {
    "gbuq_core.unfamiliarity.parts": {
        "N_MODELS": 2, "N_MODEL_TREES": 10, "_AFFINITY_TREES": 20, "_NOVELTY_TREES": 20,
    },
    "gbuq_core.unfamiliarity.splits": {"_PARTS": [(0,), (1,)]},
    "gbuq_core.tables.unfamiliar": {"_RESAMPLES": 20},
    "gbuq_core.tables.same_units": {"_N_TREES": 20},
}  # fmt: skip


def make_small():
    """In this process, to its end."""
    for module, sizes in SMALL.items():
        vars(import_module(module)).update(sizes)
