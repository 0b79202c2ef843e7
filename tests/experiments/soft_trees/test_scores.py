"""Numbers, claims, words and exports of the Soft trees page, and the rank panel."""

import csv
import io
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tolerances import CANCELLED, NEAR_ZERO, NINE_DIGITS, SAME_SUM, ZERO

from gbuq_core.errors import Cancelled, InvalidParameter
from gbuq_core.experiments.claims import VERDICTS
from gbuq_core.experiments.soft_trees.bandit import BanditSettings, plan_bandit, run_bandit
from gbuq_core.experiments.soft_trees.claims import (
    BANDIT_STUDY,
    PAPER_RMSE,
    RANK_STUDY,
    check_claims,
    check_policies,
    check_rank_claim,
    rmse_beside_paper,
)
from gbuq_core.experiments.soft_trees.experiment import (
    soft_trees_code,
    soft_trees_curves_csv,
    soft_trees_functions_csv,
    soft_trees_parameters_csv,
    soft_trees_rows_csv,
)
from gbuq_core.experiments.soft_trees.fit import (
    SoftTreesView,
    predict_soft_trees,
    run_soft_trees,
    view_soft_trees,
)
from gbuq_core.experiments.soft_trees.look import covariance_view, tree_view
from gbuq_core.experiments.soft_trees.plan import METHODS, SoftTreesSettings
from gbuq_core.experiments.soft_trees.rank import (
    RANK_DATASETS,
    RankSettings,
    describe_rank,
    plan_rank,
    rank_gain,
    rank_rows,
    run_rank,
    why_no_rank,
)
from gbuq_core.experiments.soft_trees.scores import (
    describe_covariance,
    describe_elbo,
    describe_soft_trees,
    describe_tree,
    score_all,
    score_soft_trees,
)
from gbuq_core.experiments.soft_trees.trials import BANDIT, TRIALS, bandit_csv, rank_csv
from gbuq_core.experiments.trial import trial_sections
from gbuq_core.progress import Place, Progress, at
from gbuq_core.soft_trees import ElboPath
from gbuq_core.synthetic import moons_posterior

SMALL = SoftTreesSettings(
    methods=tuple(METHODS),
    rows=80,
    depth=2,
    steps=400,
    trees=2,
    members=6,
    sglb_trees=40,
    xbart_trees=8,
    draws=40,
)
RANK = RankSettings(data="moons3", ranks=(0, 3), n_seeds=2, rows=60, steps=80, depth=1)


@pytest.fixture(scope="module")
def runs():
    return {data: run_soft_trees(replace(SMALL, data=data)) for data in ("tails", "step", "own")}


@pytest.fixture(scope="module")
def ranked():
    return run_rank(RANK)


def test_scores_are_those_of_known_functions(runs):
    run = runs["tails"]
    fit, n = run.fits[0], len(run.data.x)
    away = np.where(run.data.support, 0.1, 0.6)  # half a known distance between two functions
    functions = np.stack([run.data.true_mean - away, run.data.true_mean + away])
    view = SoftTreesView(
        "vst",
        "VST",
        run.data.x,
        functions,
        functions.mean(axis=0),
        away**2 + 1.0,
        np.ones(n),
        away**2,
        (),
    )
    score = score_soft_trees(fit, view, run.settings)
    assert score.inside == pytest.approx(0.1 / run.data.target_std)
    assert score.outside == pytest.approx(0.6 / run.data.target_std)
    assert score.fan_out == pytest.approx(6.0)
    common = run.data.true_mean[run.data.support].var()
    assert score.agreement == pytest.approx(common / (common + 0.01))


def test_errors_and_coverage_are_of_fresh_rows(runs):
    run = runs["tails"]
    for fit, score in zip(run.fits, score_all(run), strict=True):
        data = fit.data
        _, moments, _ = predict_soft_trees(fit, run.settings, data.fresh_X)
        error = math.sqrt(np.square(moments.loc - data.fresh_mean).mean())
        assert score.rmse == pytest.approx(error / data.target_std)
        z = np.abs(data.fresh_y - moments.loc) / np.sqrt(moments.total)
        assert score.coverage == pytest.approx((z <= 1.6448536).mean())
        assert score.coverage_low < score.coverage < score.coverage_high
        assert np.isfinite(score.nll)
        # Nobody can predict better than the truth, a normal of std 0.1, but by chance: 500 rows'
        # mean negative log density has a standard error of sqrt(1/2) / sqrt(500) = 0.03.
        assert score.nll > 0.5 * math.log(2.0 * math.pi * 0.01) + 0.5 - 0.1
    by_method = {score.method: score for score in score_all(run)}
    assert by_method["gp"].fan_out > 5.0 > 2.0 > by_method["sglb"].fan_out


def test_scores_of_a_process_draw_no_functions(runs, monkeypatch):
    run = runs["tails"]
    place = next(i for i, fit in enumerate(run.fits) if fit.method == "gp")
    before = score_all(run)[place]
    monkeypatch.delattr(type(run.fits[place].model), "sample_functions")
    assert score_soft_trees(run.fits[place], run.views[place], run.settings) == before


def test_what_the_data_do_not_tell_is_nan(runs):
    for score in score_all(runs["own"]):
        assert math.isnan(score.rmse)
        assert math.isnan(score.nll)
        assert score.fan_out > 0.0
    for score in score_all(runs["step"]):
        assert math.isnan(score.fan_out)
        assert score.rmse > 0.0


def test_claims_say_what_the_scores_say(runs):
    run = runs["tails"]
    scores = score_all(run)
    claims = check_claims(run, scores)
    # two about each soft method, and one against each of SGLB and XBART
    assert len(claims) == 8
    assert all(claim.verdict in VERDICTS for claim in claims)
    vst = scores[0]
    assert f"{vst.inside:.2f} stds of y" in claims[0].here
    flat = tuple(replace(score, fan_out=0.5, inside=0.9) for score in scores)
    assert {claim.verdict for claim in check_claims(run, flat)} == {"does not hold", "partly"}
    assert check_claims(runs["own"], score_all(runs["own"]))[0].verdict in VERDICTS


def test_the_papers_errors_stand_beside_ours(runs):
    run = runs["step"]
    rows = rmse_beside_paper(run)
    assert {row.method: row.paper for row in rows} == PAPER_RMSE["step"]
    scores = score_all(run)
    wanted = {"xbart": 0.1, "vst": 0.2, "sglb": 0.3}
    in_order = tuple(replace(score, rmse=wanted.get(score.method, 9.0)) for score in scores)
    (claim,) = check_claims(run, in_order)
    assert claim.verdict == "holds"
    assert "3 of 3 pairs" in claim.here
    backwards = tuple(replace(score, rmse=1.0 / score.rmse) for score in in_order)
    (claim,) = check_claims(run, backwards)
    assert claim.verdict == "does not hold"
    assert rmse_beside_paper(runs["tails"]) == ()


def test_the_wavelet_is_where_a_soft_tree_underfits():
    run = run_soft_trees(replace(SMALL, data="wavelet", methods=("vst", "sglb"), rows=150))
    underfit = check_claims(run)[0]
    assert underfit.verdict == "holds"
    scores = tuple(replace(score, rmse=0.5) for score in score_all(run))
    assert check_claims(run, scores)[0].verdict == "partly"


def test_words_have_the_numbers(runs):
    for run in runs.values():
        text = describe_soft_trees(run)
        assert text.startswith(run.data.title)
        assert "nan" not in text
        assert all(f"{METHODS[method].label}:" in text for method in METHODS)
    fit = runs["tails"].fits[0]
    look = tree_view(fit, SMALL)
    assert "leaves have more than half of the weight" in describe_tree(look)
    many = replace(look, gates=np.empty((31, 1)), splits=np.linspace(0.0, 1.0, 31))
    assert (
        "31 of 31 gates are even (send half of the weight to each side) between x = 0.00 and 1.00."
        in describe_tree(many)
    )
    path = np.concatenate([np.linspace(-9.0, 0.0, 200), np.full(50, 2.0)])
    early = fit._replace(elbo=(ElboPath(np.arange(1, 251), path),))
    assert (
        "250 of at most 400 steps. It ended early because the evidence lower bound (ELBO) had"
        in describe_elbo(early)
    )
    assert "22 parameters, rank 5" in describe_covariance(covariance_view(fit))
    assert "of at most 400 steps" in describe_elbo(fit)
    assert "2 trees" in describe_elbo(runs["tails"].fits[1])
    assert describe_elbo(runs["tails"].fits[2]) == ""


def test_tables_hold_the_numbers(runs):
    run = runs["tails"]
    view = run.views[0]
    rows = list(csv.DictReader(io.StringIO(soft_trees_curves_csv(run))))
    assert len(rows) == len(METHODS) * len(view.x)
    assert float(rows[7]["knowledge"]) == pytest.approx(view.knowledge[7], rel=NINE_DIGITS)
    assert list(csv.reader(io.StringIO(soft_trees_curves_csv(runs["own"]))))[1][6] == ""  # no truth
    drawn = np.loadtxt(io.StringIO(soft_trees_functions_csv(view)), delimiter=",", skiprows=1)
    np.testing.assert_allclose(drawn[:, 1:].T, view.functions, rtol=NINE_DIGITS)
    placed = np.loadtxt(io.StringIO(soft_trees_rows_csv(run.data)), delimiter=",", skiprows=1)
    np.testing.assert_allclose(placed[:, 1], run.data.y, rtol=NINE_DIGITS)
    lines = soft_trees_parameters_csv(run.fits[1]).splitlines()
    assert len(lines) == 1 + 2 * covariance_view(run.fits[1]).n_parameters


@pytest.mark.parametrize("data", ["tails", "own"])
def test_the_code_draws_the_same_functions(runs, data):
    run = runs[data]
    settings = replace(run.settings, draw_seed=9, draw=4, methods=("vst", "gp", "sglb"))
    exec(soft_trees_code(settings), names := {})
    np.testing.assert_allclose(names["X"], run.data.X, rtol=SAME_SUM)
    np.testing.assert_allclose(names["grid"], run.data.grid, rtol=SAME_SUM, atol=ZERO)
    # the grids differ in the last digit, and fits are the same
    np.testing.assert_allclose(
        names["functions"], view_soft_trees(run.fits[2], settings).functions, rtol=CANCELLED
    )
    np.testing.assert_allclose(
        names["picture"].output,
        tree_view(run.fits[0], settings).output,
        rtol=CANCELLED,
        atol=NEAR_ZERO,
    )
    vst = names["vst"].sample_functions(names["grid"], n_draws=40, seed=9)
    np.testing.assert_allclose(
        vst, view_soft_trees(run.fits[0], settings).functions, rtol=CANCELLED, atol=NEAR_ZERO
    )
    assert names["gp"].seed_ == 9


def test_the_code_takes_as_few_kept_functions_as_the_picture(runs):
    run = runs["tails"]
    for method in ("sglb", "xbart"):
        fit = next(fit for fit in run.fits if fit.method == method)
        few = replace(
            run.settings, methods=(method,), draws=5, shown=5
        )  # of 6 members, of 100 sweeps
        view = view_soft_trees(fit, few)
        exec(soft_trees_code(few), names := {})
        for name in ("functions", "data", "knowledge"):
            np.testing.assert_allclose(names[name], getattr(view, name), rtol=CANCELLED, atol=ZERO)


def test_the_code_names_only_what_it_uses():
    text = soft_trees_code(SoftTreesSettings(methods=("vsgbm",), tree=9, draw=3, data="gap"))
    assert "make_gap" in text
    assert "draw=2, tree=4" in text
    assert "XBART" not in text
    assert "n_draws=100)" in soft_trees_code(SoftTreesSettings(methods=("xbart",), draws=400))


def test_the_papers_order_of_policies_stands_beside_ours():
    settings = BanditSettings(n_steps=200, n_seeds=2)
    run = run_bandit(plan_bandit(settings, "random"))
    regrets = {"xbart": 50.0, "vst": 70.0, "sglb": 95.0, "random": 190.0}
    runs = [
        replace(
            run, plan=replace(run.plan, policies=(policy,)), label=policy, mean=np.array([regret])
        )
        for policy, regret in regrets.items()
    ]
    (claim,) = check_policies(runs)
    assert claim.verdict == "holds"
    assert "6 of 6 pairs" in claim.here
    worse = [runs[0], replace(runs[1], mean=np.array([300.0])), *runs[2:]]
    assert check_policies(worse)[0].verdict == "partly"  # 4 of 6
    assert check_policies(runs[:1]) == ()
    values = SimpleNamespace(bandit_policy="Random", bandit_at=60)
    first, steps = trial_sections(TRIALS, {BANDIT.name: (run,)}, values)
    assert (first.heading, steps.heading) == (BANDIT.fold.label, "A bandit, step by step")
    lines = bandit_csv([run]).splitlines()
    assert len(lines) == 1 + 2 * 200
    assert float(lines[200].split(",")[-1]) == pytest.approx(run.cumulative[0, -1], rel=NINE_DIGITS)


def test_rank_rows_are_held_out_and_foreign():
    for key in RANK_DATASETS:
        settings = replace(RANK, data=key)
        rows = rank_rows(settings, 1)
        again = rank_rows(replace(settings, seed=1), 0)
        np.testing.assert_array_equal(rows.X_foreign, again.X_foreign)
        known = {tuple(row) for row in rows.X}
        assert not known & {tuple(row) for row in rows.X_test}
        assert not known & {tuple(row) for row in rows.X_foreign}
        assert rows.X_foreign.shape == rows.X_test.shape
    moons = rank_rows(RANK, 0)
    # where no moon can be, the classes are as good as certain almost everywhere
    certain = moons_posterior(moons.X_foreign[:, :2], 0.15)
    assert (np.minimum(certain, 1.0 - certain) < 0.01).mean() > 0.8


def test_foreign_wines_stand_where_patients_do():
    rows = rank_rows(RankSettings(), 0)
    # 88 of 178 standardised wines: means within 4 / sqrt(88) stds of the patients'
    gap = (rows.X_foreign.mean(axis=0) - rows.X.mean(axis=0)) / rows.X.std(axis=0)
    assert np.abs(gap).max() < 0.43


def test_a_rank_run_has_all_ranks_and_seeds(ranked):
    assert ranked.auroc.shape == (2, 2)
    assert ((ranked.auroc >= 0.0) & (ranked.auroc <= 1.0)).all()
    np.testing.assert_allclose(ranked.mean, ranked.auroc.mean(axis=1))
    spread = ranked.auroc.std(axis=1, ddof=1) / math.sqrt(2.0)
    np.testing.assert_allclose(ranked.standard_error, spread)
    assert (ranked.log_score < 0.0).all()
    assert ranked.n_parameters == 20
    gain, error = rank_gain(ranked)
    assert gain == pytest.approx(ranked.mean[1] - ranked.mean[0])
    assert error >= 0.0
    assert "Full rank is 20." in describe_rank(ranked)
    assert len(rank_csv(ranked).splitlines()) == 5


def test_a_rank_run_is_repeatable_and_seeds_are_its_own(ranked):
    second = run_rank(replace(RANK, seed=1, n_seeds=1))
    # the second repetition of seed 0 is the first of seed 1
    np.testing.assert_array_equal(second.auroc[:, 0], ranked.auroc[:, 1])
    assert np.isnan(second.standard_error).all()
    assert "±" not in describe_rank(second)
    assert check_rank_claim(second).verdict in VERDICTS


def test_the_rank_claim_follows_the_numbers(ranked):
    rising = ranked._replace(
        auroc=np.array([[0.5, 0.51], [0.9, 0.92]]), mean=np.array([0.505, 0.91])
    )
    assert check_rank_claim(rising).verdict == "holds"
    falling = ranked._replace(auroc=rising.auroc[::-1], mean=rising.mean[::-1])
    assert check_rank_claim(falling).verdict == "does not hold"
    single = ranked._replace(ranks=np.array([5]), auroc=rising.auroc[:1], mean=rising.mean[:1])
    assert check_rank_claim(single).verdict == "does not hold"


def test_a_gain_within_its_error_is_no_rise(ranked):
    noise = np.array([[0.5, 0.6], [0.62, 0.5]])  # +0.12 and -0.1: +0.01 with an error of 0.11
    assert check_rank_claim(ranked._replace(auroc=noise, mean=noise.mean(axis=1))).verdict == (
        "does not hold"
    )
    alone = ranked._replace(auroc=np.array([[0.5], [0.9]]), mean=np.array([0.5, 0.9]))
    assert check_rank_claim(alone).verdict == "partly"  # one seed tells a direction at most


def test_every_seed_of_the_rank_has_repetitions_of_its_own():
    plan = RANK_STUDY.plan(replace(RANK, ranks=(0, 1, 3)), n_seeds=2)
    assert plan.settings.ranks == (0, 3)  # the statement compares the lowest with the highest
    second = RANK_STUDY.fit(replace(plan.settings, seed=1))
    assert second.settings.seed == plan.settings.n_seeds
    (claim,) = RANK_STUDY.claims(second)
    assert claim == check_rank_claim(run_rank(second.settings))


def test_a_quicker_bandit_has_fewer_steps_and_fewer_and_shorter_fits():
    plan = BANDIT_STUDY.plan(BanditSettings())
    assert [sentence.split(" ")[0] for sentence in plan.quicker] == ["steps", "steps", "training"]
    assert plan.settings.n_steps >= 300


def test_rank_plans_drop_what_does_not_matter():
    table = RankSettings(ranks=(5, 0, 300, 400, 5))
    plan = plan_rank(table)
    assert plan.ranks == (0, 5, 121)
    assert plan == plan_rank(replace(table, rows=50))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"ranks": ()}, "1 to 12 ranks"),
        ({"ranks": (-1,)}, "ranks must be"),
    ],
)
def test_bad_rank_settings_are_refused_in_a_sentence(wrong, words):
    settings = replace(RANK, **wrong)
    sentence = why_no_rank(settings)
    assert words in sentence
    assert sentence.endswith(".")
    with pytest.raises(InvalidParameter) as caught:
        run_rank(settings)
    assert str(caught.value) == sentence


def test_a_rank_run_counts_to_its_end_and_can_be_stopped():
    done = Progress(1.0)
    with at(Place(progress=done)):
        run_rank(RANK)
    assert done.done == pytest.approx(1.0)

    def refuse():
        raise Cancelled

    with at(Place(progress=Progress(1.0), checks=(refuse,))), pytest.raises(Cancelled):
        run_rank(RANK)
