"""Operators that draw numbers: the same ones whoever calculates them, and of the distribution that the standard says."""

import numpy as np
import onnx
import onnx.helper as oh
import pytest
import scipy.stats

import lathe

SHAPE = (300, 400)
COUNT = SHAPE[0] * SHAPE[1]
LIKE = np.zeros(SHAPE, np.float32)
CHANCES = np.random.default_rng(5).uniform(0, 1, SHAPE)
WEIGHTS = np.array([[0.1, 0.2, 0.7], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
with np.errstate(divide="ignore"):
    LOGITS = np.log(WEIGHTS).astype(np.float32)
SAMPLES = 20000
# The inputs and attributes of each operator.
PROBLEMS = {
    "RandomUniform": ([], {"shape": SHAPE, "low": -1.0, "high": 3.0}),
    "RandomNormal": ([], {"shape": SHAPE, "mean": 2.0, "scale": 0.5}),
    "RandomUniformLike": ([LIKE], {"low": -1.0, "high": 3.0}),
    "RandomNormalLike": ([LIKE], {"mean": 2.0, "scale": 0.5}),
    "Bernoulli": ([CHANCES], {}),
    "Multinomial": ([LOGITS], {"sample_size": SAMPLES}),
    "Dropout": ([LIKE + 1, np.array(0.3, np.float32), np.array(True)], {}),
}
SEEDED = {"Dropout": {"seed": 7}}


def model(nodes, inputs, outputs):
    infos = [oh.make_tensor_value_info(f"x{i}", oh.np_dtype_to_tensor_dtype(v.dtype), v.shape) for i, v in enumerate(inputs)]
    graph = oh.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name=o) for o in outputs])
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 22)], ir_version=10).SerializeToString()


def one(op, **more):
    inputs, attributes = PROBLEMS[op]
    names = [f"x{i}" for i in range(len(inputs))]
    return model([oh.make_node(op, names, ["y"], **attributes, **more)], inputs, ["y"]), inputs


def seeded(op, seed=7):
    return one(op, seed=seed if op == "Dropout" else float(seed))


def drawn(op, **how):
    bytes_, inputs = seeded(op)
    return lathe.build(bytes_, **how).run(inputs)["y"]


@pytest.mark.parametrize("op", PROBLEMS)
@pytest.mark.parametrize(
    "how",
    [{"threads": 2}, {"threads": 7}, {"backend": "reference"}, {"isa": "generic"}, {"isa": "avx2"}, {"level": "none"}, {"level": "extended"}, {"numerics": "strict"}],
    ids=lambda how: "-".join(f"{k}-{v}" for k, v in how.items()),
)
def test_the_same_numbers_whoever_draws(op, how):
    want = drawn(op, threads=1)
    got = drawn(op, **{"threads": 1, **how})
    assert got.dtype == want.dtype and got.tobytes() == want.tobytes()


@pytest.mark.parametrize("op", PROBLEMS)
def test_the_same_numbers_from_a_plan_and_again(op, tmp_path):
    bytes_, inputs = seeded(op)
    engine = lathe.build(bytes_)
    engine.save(tmp_path / "plan.lathe")
    first, second = (engine.run(inputs)["y"] for _ in range(2))
    assert first.tobytes() == second.tobytes() == lathe.load(tmp_path / "plan.lathe").run(inputs)["y"].tobytes()
    assert engine.create_context().run(inputs)["y"].tobytes() == first.tobytes()


@pytest.mark.parametrize("op", PROBLEMS)
def test_another_seed_gives_other_numbers(op):
    first, second = (lathe.build(b).run(x)["y"] for b, x in (seeded(op, 7), seeded(op, 8)))
    assert np.mean(first != second) > 0.05


@pytest.mark.parametrize("op", [op for op in PROBLEMS])
def test_without_a_seed_numbers_are_fresh(op):
    """In two nodes, in two runs, in two engines."""
    inputs, attributes = PROBLEMS[op]
    names = [f"x{i}" for i in range(len(inputs))]
    bytes_ = model([oh.make_node(op, names, [o], **attributes) for o in ("a", "b")], inputs, ["a", "b"])
    engine = lathe.build(bytes_)
    runs = [*engine.run(inputs).values(), *engine.run(inputs).values(), *lathe.build(bytes_, backend="reference").run(inputs).values()]
    assert len({r.tobytes() for r in runs}) == len(runs)


def near(values, mean, deviation):
    """Within five deviations of the mean of so many; the variance likewise, for what has no tails."""
    n = values.size
    assert abs(values.mean() - mean) < 5 * deviation / np.sqrt(n)
    assert abs(values.std() - deviation) < 5 * deviation / np.sqrt(n)


@pytest.mark.parametrize("op", ["RandomUniform", "RandomUniformLike"])
def test_uniform(op):
    y = drawn(op).astype(np.float64)
    assert y.shape == SHAPE and y.min() >= -1 and y.max() <= 3
    near(y, 1, 4 / np.sqrt(12))
    assert scipy.stats.kstest(y.reshape(-1), scipy.stats.uniform(-1, 4).cdf).pvalue > 1e-4


@pytest.mark.parametrize("op", ["RandomNormal", "RandomNormalLike"])
def test_normal(op):
    y = drawn(op).astype(np.float64)
    assert y.shape == SHAPE
    near(y, 2, 0.5)
    assert scipy.stats.kstest(y.reshape(-1), scipy.stats.norm(2, 0.5).cdf).pvalue > 1e-4


@pytest.mark.parametrize("op", ["RandomUniform", "RandomNormal"])
def test_neighbors_do_not_know_each_other(op):
    """Neither along the rows, nor between seeds that follow each other."""
    y = drawn(op).astype(np.float64)
    bytes_, inputs = seeded(op, 8)
    other = lathe.build(bytes_).run(inputs)["y"].astype(np.float64)
    for a, b in ((y[:, :-1], y[:, 1:]), (y[:-1], y[1:]), (y, other)):
        assert abs(np.corrcoef(a.reshape(-1), b.reshape(-1))[0, 1]) < 5 / np.sqrt(a.size)


def test_bernoulli_frequencies():
    """In each tenth of the chances as many ones as these say; never with a chance of 0, always with one of 1."""
    y = drawn("Bernoulli")
    assert set(np.unique(y)) == {0, 1}
    for low in np.arange(0, 1, 0.1):
        there = (CHANCES >= low) & (CHANCES < low + 0.1)
        wanted, n = CHANCES[there].mean(), there.sum()
        assert abs(y[there].mean() - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / n)
    certain = np.repeat(np.array([0.0, 1.0], np.float32), 5000)
    bytes_ = model([oh.make_node("Bernoulli", ["x0"], ["y"])], [certain], ["y"])
    np.testing.assert_array_equal(lathe.build(bytes_).run([certain])["y"], certain)


def test_multinomial_frequencies():
    y = drawn("Multinomial")
    assert y.shape == (len(WEIGHTS), SAMPLES) and y.dtype == np.int32
    for row, weights in zip(y, WEIGHTS):
        counts = np.bincount(row, minlength=3)
        assert not counts[weights == 0].any()
        possible = weights > 0
        if possible.sum() > 1:
            assert scipy.stats.chisquare(counts[possible], weights[possible] * SAMPLES).pvalue > 1e-4


def test_dropout_leaves_its_share():
    y = drawn("Dropout")
    kept = y != 0
    assert abs(kept.mean() - 0.7) < 5 * np.sqrt(0.7 * 0.3 / COUNT)
    np.testing.assert_allclose(y[kept], 1 / 0.7, rtol=1e-6)
