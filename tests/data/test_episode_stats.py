"""Statistics agree with LeRobot's own."""

import numpy as np
import pytest

from svm_robot.data.episode_stats import PictureStats, column_stats, from_json, merge, to_json


def test_numbers_agree_with_lerobot():
    from lerobot.datasets.compute_stats import compute_episode_stats

    rng = np.random.default_rng(0)
    data = {"action": rng.normal(5, 2, (400, 3)).astype(np.float32), "next.done": np.arange(400) == 399}
    features = {"action": {"dtype": "float32", "shape": (3,)}, "next.done": {"dtype": "bool", "shape": (1,)}}
    theirs = compute_episode_stats(data, features)
    ours = {key: column_stats(values.reshape(400, -1)) for key, values in data.items()}
    for key in data:
        assert theirs[key].keys() == ours[key].keys()
        for name, value in theirs[key].items():
            assert np.shape(value) == ours[key][name].shape, (key, name)
            tolerance = {"q01": 1.0, "q99": 1.0}.get(name, 0.1 if name.startswith("q") else 1e-4)  # theirs are rough
            assert ours[key][name] == pytest.approx(value, abs=tolerance), (key, name)


def test_pictures_are_exact():
    frames = np.random.default_rng(0).integers(0, 200, (5, 64, 64, 3), dtype=np.uint8)
    stats = PictureStats()
    for frame in frames:
        stats.add(frame)
    result, pixels = stats.result(), frames.reshape(-1, 3) / 255
    assert result["mean"].ravel() == pytest.approx(pixels.mean(0))
    assert result["std"].ravel() == pytest.approx(pixels.std(0))
    assert result["min"].ravel() == pytest.approx(pixels.min(0))
    assert result["max"].ravel() == pytest.approx(pixels.max(0))
    assert result["q90"].ravel() == pytest.approx(np.quantile(pixels, 0.9, axis=0, method="inverted_cdf"))
    assert {value.shape for name, value in result.items() if name != "count"} == {(3, 1, 1)}
    assert result["count"].tolist() == [5]


def test_large_pictures_are_thinned():
    stats = PictureStats()
    stats.add(np.zeros((480, 640, 3), np.uint8))
    assert stats.histogram[0].sum() == 96 * 128


def test_two_parts_make_the_whole():
    values = np.random.default_rng(1).normal(size=(90, 2))
    halves = merge(merge({}, {"a": column_stats(values[:30])}), {"a": column_stats(values[30:])})["a"]
    whole = column_stats(values)
    for name in ("min", "max", "mean", "std", "count"):
        assert halves[name] == pytest.approx(whole[name])


def test_merging_agrees_with_lerobot():
    from lerobot.datasets.compute_stats import aggregate_stats

    values = np.random.default_rng(2).normal(size=(90, 2))
    parts = [{"a": column_stats(values[:20])}, {"a": column_stats(values[20:])}]
    theirs, ours = aggregate_stats(parts)["a"], merge(*parts)["a"]
    assert theirs.keys() == ours.keys()
    for name, value in theirs.items():
        assert ours[name] == pytest.approx(value), name


def test_written_and_read_back():
    stats = {"a": column_stats(np.arange(6.0).reshape(3, 2))}
    back = from_json(to_json(stats))
    assert all(np.array_equal(back["a"][name], value) for name, value in stats["a"].items())
