"""The lesson on two clocks: the facts that its fixed sentences rest on."""

from demos.two_clocks import END, MAIN, _look, _score
from gbuq_core.settings import plan_of


def test_one_factor_repairs_the_coverage_and_not_the_scores():
    assert plan_of(MAIN) == plan_of(END)
    look = _look(END)
    every, factor, clocks = (_score(look, way) for way in ("all", "factor", "clocks"))
    assert every.coverage < 0.6
    assert abs(factor.coverage - 0.9) < 0.06
    assert clocks.nll < factor.nll < every.nll
    assert clocks.crps < factor.crps < every.crps
    curves = look.curves
    assert curves.stated[-1] < 0.5 * curves.rmse[-1]
    assert curves.nll.argmin() < curves.rmse.argmin()
