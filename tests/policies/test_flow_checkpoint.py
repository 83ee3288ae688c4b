"""Saving whole, loading what belongs together, and refusing policies of another robot."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest
import torch
import toys
from lerobot.configs import PreTrainedConfig
from lerobot.policies.factory import get_policy_class, make_pre_post_processors
from toy_flow import tiny_flow

from svm_robot.errors import CheckpointError
from svm_robot.policies.checkpoint import check_fits, load_flow, save_flow
from svm_robot.policies.modeling_svm_flow import SvmFlowPolicy
from svm_robot.vision.encoder import fingerprint


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policies") / "flow"
    policy = tiny_flow()
    policy.config.label_hash = "abc"
    save_flow(policy, path, {"nll_nats": 1.5})
    return path


def test_round_trip(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded, original = load_flow(saved), tiny_flow()
    assert sorted(file.name for file in saved.iterdir()) == ["config.json", "model.safetensors", "pretrain.json"]
    assert loaded.config.joints == ["a.pos", "b.pos"] and loaded.config.cameras["wrist"] == [32, 32]
    assert (loaded.config.label_hash, loaded.config.rate_hz) == ("abc", 10.0)
    assert loaded.config.encoder_fingerprint == fingerprint(original.encoder) == fingerprint(loaded.encoder)
    features, state, noise = torch.randn(2, 64), torch.randn(2, 2), torch.randn(2, 6)
    assert torch.equal(loaded.generate(features, state, noise), original.generate(features, state, noise))
    assert not loaded.training and capsys.readouterr().out == ""


def test_lerobots_factories_take_it(saved: Path) -> None:
    config = PreTrainedConfig.from_pretrained(saved)
    policy = get_policy_class(config.type).from_pretrained(saved)
    assert isinstance(policy, SvmFlowPolicy)
    before, after = make_pre_post_processors(config)
    seen = {
        "observation.state": torch.tensor([1.0, -2.0]),
        "observation.images.front": torch.rand(3, 32, 32),
        "observation.images.wrist": torch.rand(3, 32, 32),
    }
    ready = before(seen)
    assert torch.equal(ready["observation.state"], torch.tensor([[1.0, -2.0]]))  # batched, not normalised
    action = policy.select_action(ready)
    assert torch.equal(after(action), action)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"joints": ("a.pos", "c.pos")}, "no joint b.pos; unknown joint c.pos"),
        ({"joints": ("b.pos", "a.pos")}, "joints in another order: b.pos, a.pos instead of a.pos, b.pos"),
        ({"cameras": {"front": (32, 32), "hand": (32, 32)}}, "no camera wrist; unknown camera hand"),
        ({"cameras": {"front": (48, 64), "wrist": (32, 32)}}, "camera front gives 48x64 instead of 32x32"),
        ({"rate_hz": 30.0}, "30 Hz instead of 10 Hz"),
        ({"robot_type": "koch_follower"}, "robot koch_follower instead of toy"),
    ],
)
def test_a_policy_of_another_robot_is_refused_with_a_diff(change: dict[str, object], said: str) -> None:
    with pytest.raises(CheckpointError, match="policy of another robot.*" + said):
        check_fits(tiny_flow(), dataclasses.replace(toys.ToySpec(), **change))


def test_the_robot_it_was_made_for_is_accepted() -> None:
    check_fits(tiny_flow(), toys.ToySpec(rate_hz=10.04))  # a measured rate is never exact


def test_nothing_is_overwritten_by_accident(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"exists already.*--overwrite"):
        save_flow(tiny_flow(), saved, {})
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    with pytest.raises(CheckpointError, match="no policy checkpoint, so it is not overwritten"):
        save_flow(tiny_flow(), tmp_path / "thesis", {}, overwrite=True)
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "years of work"
    copy = shutil.copytree(saved, tmp_path / "flow")
    save_flow(tiny_flow(seed=1), copy, {}, overwrite=True)
    assert fingerprint(load_flow(copy)) == fingerprint(tiny_flow(seed=1))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["flow", "thesis"]


def damaged(saved: Path, folder: Path, what: str) -> Path:
    path = shutil.copytree(saved, folder / "flow")
    weights, config = path / "model.safetensors", path / "config.json"
    if what == "no weights":
        weights.unlink()
    elif what == "torn weights":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif what == "other weights":
        shutil.copy(save_other(folder) / "model.safetensors", weights)
    elif what == "bad config":
        config.write_text("{")
    else:
        content = json.loads(config.read_text())
        config.write_text(json.dumps({**content, **json.loads(what)}))
    return path


def save_other(folder: Path) -> Path:
    save_flow(tiny_flow(seed=1), folder / "other", {})
    return folder / "other"


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("no weights", "model.safetensors missing"),
        ("torn weights", "cannot be read"),
        ("other weights", "do not belong together"),
        ("bad config", "cannot be read"),
        ('{"hidden": 48}', "cannot be read.*size mismatch"),
        ('{"type": "act"}', "cannot be read|type 'act'"),
        ('{"type": "nobody"}', "nobody"),
    ],
)
def test_damaged_checkpoints_are_refused(saved: Path, tmp_path: Path, what: str, said: str) -> None:
    with pytest.raises(CheckpointError, match=said):
        load_flow(damaged(saved, tmp_path, what))


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no policy checkpoint at.*pretrain"):
        load_flow(tmp_path / "nowhere")
