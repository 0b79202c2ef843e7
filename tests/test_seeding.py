"""Counter-based draws: the hash against its definition, normals and uniforms against their laws."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from seeding_parts import fill_normals, normals_of
from tolerances import CANCELLED

from gbuq_core import seeding
from gbuq_core.seeding import bits_at, normal_at, uniform_at

TAIL = 3.6541528853610088  # beyond it the ziggurat draws from a tail algorithm of its own

# Fixed seeds: these tests pass or fail for good. A sound generator fails one with this chance.
CHANCE = 1e-4

words = st.integers(0, 2**64 - 1)


def stream(*args):
    # A compiled function returns a plain int, which would be taken for an int64.
    return np.uint64(seeding.stream(*args))


@pytest.fixture
def compiled():
    """A stream with its first normals and uniforms, from the compiled functions."""
    base = stream(3, 1, 4, 1)
    return base, naive.draws(normal_at, base, 3000), naive.draws(uniform_at, base, 3000)


@pytest.fixture
def in_python(monkeypatch):
    """The module without its compiler, and without warnings about arithmetic modulo 2^64."""
    for name in ("_mix", "stream", "bits_at", "uniform_at", "_normal_slow", "normal_at"):
        monkeypatch.setattr(seeding, name, getattr(seeding, name).py_func)
    with np.errstate(over="ignore"):
        yield seeding


@pytest.fixture(scope="module")
def many():
    """Four million normals, half from each of two streams: about a thousand in the tails."""
    out = np.empty((2, 2_000_000))
    for part, member in zip(out, (0, 1), strict=True):
        fill_normals(stream(7, member, 3, 1), part)
    return out.ravel()


def normals(seed, member, iteration, purpose, n=20_000):
    return normals_of(stream(seed, member, iteration, purpose), n)


def test_the_hash_is_splitmix64():
    # The first outputs of the authors' generator from the state 1234567, as published with it.
    published = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert [int(bits_at(np.uint64(1234567), k)) for k in range(1, 6)] == published


@given(base=words, index=st.integers(0, 2**40))
def test_bits_equal_the_twin(base, index):
    assert int(bits_at(np.uint64(base), index)) == naive.bits_at(base, index)


@given(word=words)
def test_the_hash_loses_nothing(word):
    assert naive.unmix(naive.mix(word)) == word


def test_uniforms_never_reach_their_ends():
    lowest, highest = (np.uint64(naive.unmix(bits)) for bits in (0, 2**64 - 1))
    assert 0.0 < uniform_at(lowest, 0) < 1e-15
    assert 1.0 - 1e-15 < uniform_at(highest, 0) < 1.0


def test_uniforms_are_uniform():
    draws = naive.draws(uniform_at, stream(0, 0, 0, 0), 50_000)
    assert stats.kstest(draws, "uniform").pvalue > CHANCE


@pytest.mark.parametrize("args", [(0, 0, 0, 0), (2**63 - 1, 999, 99_999, 3), (5, 1, 0, 2)])
def test_normals_follow_the_normal_law(args):
    assert stats.kstest(normals(*args), "norm").pvalue > CHANCE


def test_each_layer_has_its_share(many):
    """Bins of equal probability, finer than the ziggurat's layers."""
    counts, _ = np.histogram(stats.norm.cdf(many), bins=1000, range=(0.0, 1.0))
    assert stats.chisquare(counts).pvalue > CHANCE


def test_moments(many):
    # The standard errors of the first four moments of n normals, z = 4: a chance of 6e-5 each.
    n = len(many)
    expected = [(0.0, 1.0), (1.0, 2.0), (0.0, 15.0), (3.0, 96.0)]  # mean of x^k, variance of x^k
    for power, (mean, variance) in enumerate(expected, start=1):
        assert abs(np.mean(many**power) - mean) < 4.0 * np.sqrt(variance / n)


def test_tails_are_reached_as_often_as_they_should(many):
    for side in (many, -many):
        beyond = np.sum(side > TAIL)
        assert stats.binomtest(beyond, len(many), stats.norm.sf(TAIL)).pvalue > CHANCE


def test_draws_in_the_tail_follow_the_normal_law(rng):
    """Bits that end in the base layer, to the right of its rectangle, begin a draw in the tail."""
    first, last = int(seeding._ACCEPT[255]), 2**52
    beyond = np.empty(20_000)
    for i, position in enumerate(rng.integers(first, last, len(beyond), dtype=np.uint64)):
        bits = (position << np.uint64(12)) | np.uint64(255)
        beyond[i] = seeding._normal_slow(bits)
    # Given that a normal is beyond, its survival function is uniform below that of the edge.
    assert beyond.min() > TAIL
    survival = stats.norm.sf(beyond) / stats.norm.sf(TAIL)
    assert stats.kstest(survival, "uniform").pvalue > CHANCE


def test_the_tables_are_the_ziggurat():
    """256 layers of one area: width times height of each, and the base with its tail."""
    edge = seeding._WIDTH * 2.0**52  # right ends of the layers
    density = np.append(seeding._DENSITY[1:], np.exp(-0.5 * TAIL**2))
    area = edge[:-1] * -np.diff(seeding._DENSITY)
    # 15 digits are published of the tail's edge; the recursion magnifies the last at the top.
    np.testing.assert_allclose(area, 0.00492867323399, rtol=1e-9)
    assert seeding._DENSITY[0] == 1.0
    tail = np.sqrt(2.0 * np.pi) * stats.norm.sf(TAIL)
    np.testing.assert_allclose(TAIL * density[-1] + tail, 0.00492867323399, rtol=CANCELLED)


def test_python_and_compiled_draws_agree(compiled, in_python):
    base = in_python.stream(3, 1, 4, 1)
    assert int(base) == int(compiled[0])
    twin = naive.draws(in_python.normal_at, base, 3000)
    # The exp of two math libraries would have to fall on two sides of one draw to differ.
    np.testing.assert_array_equal(twin, compiled[1])
    # What the fast path accepts, the slow one accepts too; the rest comes from it anyway.
    slow = [in_python._normal_slow(in_python.bits_at(base, k)) for k in range(3000)]
    np.testing.assert_array_equal(slow, twin)
    np.testing.assert_array_equal(naive.draws(in_python.uniform_at, base, 3000), compiled[2])


def test_draws_do_not_depend_on_their_order(rng):
    base = stream(1, 2, 3, 4)
    in_order = normals_of(base, 500)
    order = rng.permutation(500)
    np.testing.assert_array_equal([normal_at(base, index) for index in order], in_order[order])
    np.testing.assert_array_equal(naive.draws(normal_at, base, 500), in_order)


def test_every_stream_is_another():
    bases = {
        int(stream(seed, member, iteration, purpose))
        for seed in (0, 1, 2, 2**62)
        for member in range(10)
        for iteration in range(100)
        for purpose in range(4)
    }
    assert len(bases) == 4 * 10 * 100 * 4  # 16,000 of 2^64: a chance collision has odds of 1e-11


@pytest.mark.parametrize("changed", range(4), ids=["seed", "member", "iteration", "purpose"])
def test_neighbouring_streams_are_independent(changed):
    args = [3, 2, 10, 1]
    first = normals(*args)
    args[changed] += 1
    second = normals(*args)
    for lag in range(4):
        correlation = np.mean(first[lag:] * second[: len(second) - lag])
        assert abs(correlation) < 4.5 / np.sqrt(len(first))  # 4.5 standard errors, 16 comparisons


def test_draws_of_one_stream_are_independent():
    draws = normals(0, 0, 0, 0)
    for lag in (1, 2, 3, 8, 64, 256):
        # Squares too: a ziggurat on too few bits ties a draw's size to its layer.
        for values, std in ((draws, 1.0), (draws**2 - 1.0, np.sqrt(2.0))):
            correlation = np.mean(values[lag:] * values[:-lag]) / std**2
            assert abs(correlation) < 4.5 / np.sqrt(len(draws))
