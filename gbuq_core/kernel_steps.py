"""The steps in which kernels are compiled: what each is for, and which function does it.

A step's function compiles kernels that no other step compiles, or finds them in the cache; `after`
names steps whose kernels its own call. `gbuq_core.compilers` runs them in processes beside each
other: for `gbuq warm`, when the server starts, before the first fit, and before the tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class KernelStep(NamedTuple):
    """One step: ``function`` is "module:function", ``methods`` are keys of methods and samplers."""

    name: str
    function: str
    methods: tuple[str, ...]
    after: tuple[str, ...] = ()


_BOOSTED = ("sgb", "sglb", "virtual_sglb", "csglb", "cbsglb", "vrf", "stacked")
_NEIGHBOURS = ("ibug", "ibug_cbu", "stacked")
_MACAU = ("macau", "macau_linear", "macau_basic")
_BOOSTING = "gbuq_core.boosting.warmup:"
_SOFT_TREES = "gbuq_core.soft_trees.warmup:"

# Those of the app's first pages come first.
_STEPS = (
    KernelStep("trees_of_two", _BOOSTING + "compile_trees_of_two", _BOOSTED),
    KernelStep("gaussian", _BOOSTING + "compile_gaussian", _BOOSTED),
    KernelStep(
        "gaussian_boosting", _BOOSTING + "boost_numbers", _BOOSTED, ("trees_of_two", "gaussian")
    ),
    KernelStep("bins", _BOOSTING + "compile_bins", _BOOSTED),
    KernelStep("predicting", _BOOSTING + "compile_predicting", _BOOSTED, ("bins",)),
    KernelStep("softmax", _BOOSTING + "compile_softmax", _BOOSTED),
    KernelStep("trees_of_three", _BOOSTING + "compile_trees_of_three", _BOOSTED),
    KernelStep(
        "two_classes", _BOOSTING + "boost_two_classes", _BOOSTED, ("trees_of_two", "softmax")
    ),
    KernelStep(
        "three_classes", _BOOSTING + "boost_three_classes", _BOOSTED, ("trees_of_three", "softmax")
    ),
    KernelStep(
        "predicting_three", _BOOSTING + "compile_predicting_three", _BOOSTED, ("predicting",)
    ),
    KernelStep("chains", "gbuq_core.sampling.warmup:warm_up", ("sgld", "nsgld", "clr", "cg")),
    KernelStep("neighbours", "gbuq_core.ibug.warmup:warm_up", _NEIGHBOURS),
    KernelStep("laws", "gbuq_core.stacking.cdfs:warm_up", ("stacked",)),
    KernelStep("mixtures", _SOFT_TREES + "warm_up", ("vst", "vsgbm")),
    KernelStep("macau", "gbuq_core.macau.warmup:warm_up", _MACAU),
    KernelStep("means", _SOFT_TREES + "compile_means", ("vst", "vsgbm"), ("mixtures",)),
    KernelStep("soft_classes", _SOFT_TREES + "compile_classes", ("vst",), ("mixtures",)),
    KernelStep("macau_classes", "gbuq_core.macau.warmup:compile_classes", _MACAU, ("macau",)),
)
STEPS = {step.name: step for step in _STEPS}


def with_earlier(names: Iterable[str]) -> list[str]:
    """These steps and those that they come after, each once, an earlier one first.

    >>> with_earlier(["gaussian_boosting", "gaussian"])
    ['trees_of_two', 'gaussian', 'gaussian_boosting']
    """
    steps = (step for name in names for step in (*with_earlier(STEPS[name].after), name))
    return list(dict.fromkeys(steps))


def steps_of(methods: Iterable[str]) -> list[str]:
    """The steps of some methods; of those without kernels none.

    >>> steps_of(["cg", "forest"])
    ['chains']
    """
    wanted = set(methods)
    return with_earlier(name for name, step in STEPS.items() if wanted & set(step.methods))
