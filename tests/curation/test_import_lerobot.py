"""LeRobot datasets of all versions become ours, or are refused for a stated reason; the source stays what it was."""

import io
import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from foreign import CAMERA, LENGTHS, RATE_HZ, edit_info, features, picture, write_v2, write_video
from importing import imported, refusal
from PIL import Image
from recordings import LOSSLESS

from svm_robot.curation.formats.opened import ImportOptions
from svm_robot.curation.formats.recording import open_recording
from svm_robot.curation.rebuild.source import open_source
from svm_robot.data import columns, load_dataset
from svm_robot.data.label_view import read_view
from svm_robot.data.layout import INFO


@pytest.fixture(scope="module")
def v2(tmp_path_factory):
    return write_v2(tmp_path_factory.mktemp("v2") / "d")


@pytest.fixture
def copy(v2, tmp_path):
    return shutil.copytree(v2, tmp_path / "copy")


@pytest.fixture(scope="module")
def ours(v2, tmp_path_factory):
    """The v2 recording, imported."""
    target = tmp_path_factory.mktemp("ours") / "d"
    imported(v2, target)
    return target


def rewrite(root, episode, change):
    path = root / f"data/chunk-000/episode_{episode:06d}.parquet"
    pq.write_table(change(pq.read_table(path)), path)


def test_pictures_belong_to_their_rows(ours):
    for episode in load_dataset(ours).episodes:
        for row, frame in enumerate(episode.frames["top"]):
            assert np.abs(frame.astype(int) - picture(episode.index, row)).max() <= LOSSLESS


def test_importing_again_gives_the_same_uids_and_other_data_other_ones(v2, copy):
    uids = [episode.uid for episode in open_recording(v2, "auto", ImportOptions()).source.episodes]
    assert uids == [episode.uid for episode in open_recording(copy, "auto", ImportOptions()).source.episodes]
    assert len({*uids}) == 3
    rewrite(copy, 1, lambda table: table.set_column(1, "action", table["observation.state"]))
    changed = [episode.uid for episode in open_recording(copy, "auto", ImportOptions()).source.episodes]
    assert [a == b for a, b in zip(uids, changed, strict=True)] == [True, False, True]


def test_equal_episodes_are_told_apart(copy, tmp_path):
    for kind in ("data/chunk-000/episode_00000{}.parquet", f"videos/chunk-000/{CAMERA}/episode_00000{{}}.mp4"):
        shutil.copy(copy / kind.format(0), copy / kind.format(2))
    lines = [json.dumps({"episode_index": n, "tasks": ["stack"], "length": (5, 9, 5)[n]}) for n in range(3)]
    (copy / "meta/episodes.jsonl").write_text("\n".join(lines))
    opened = imported(copy, tmp_path / "out")
    assert len({episode.uid for episode in opened.source.episodes}) == 3


@pytest.mark.parametrize("version", ["2.3.0", "v3.1", "v1.6", "banana", None])
def test_an_unknown_version_is_named_and_the_known_ones_listed(copy, version):
    edit_info(copy, codebase_version=version)
    message = refusal(copy)
    assert f"'{version}'" in message
    assert "v2.0, v2.1, v3.0" in message


def test_info_json_is_missing_torn_or_lacks_something(copy):
    edit_info(copy, fps=None)
    assert "lacks fps" in refusal(copy)
    (copy / INFO).write_text('{"codebase_version": "v2.1", ')
    assert "is damaged" in refusal(copy)
    (copy / INFO).unlink()
    assert "meta/info.json" in refusal(copy)


@pytest.mark.parametrize(
    ("names", "joints"),
    [
        (None, ("joint_0", "joint_1")),
        ([["a", "b"]], ("a", "b")),
        ({"motors": ["a", "b"]}, ("a", "b")),
        (["a", "b"], ("a", "b")),
        (["a", "b", "c"], ("joint_0", "joint_1")),
    ],
)
def test_names_of_every_shape(copy, tmp_path, names, joints):
    edit_info(copy, features=features(names))
    opened = imported(copy, tmp_path / "out")
    assert load_dataset(tmp_path / "out", frames=False).joints == joints
    assert any("3 names" in note for note in opened.notes) == (names is not None and len(names) == 3)


def test_a_version_2_feature_table_without_names_or_with_video_info(copy, tmp_path):
    table = features()
    for feature in table.values():
        del feature["names"]
    table[CAMERA]["video_info"] = table[CAMERA].pop("info")
    edit_info(copy, features=table, fps=float(RATE_HZ), codebase_version="v2.0")
    imported(copy, tmp_path / "out")
    info = json.loads((tmp_path / "out" / INFO).read_text())
    assert info["fps"] == RATE_HZ
    assert info["features"][CAMERA]["info"]["video.codec"] == "h264"


def test_wall_clock_timestamps_are_kept_beside_the_standard_one(tmp_path):
    drift = np.array([0.03, 0.14, 0.2, 0.41, 0.5, 0.6, 0.8, 0.9, 1.0])

    def late(_, table):
        table["timestamp"] = drift[: len(table["timestamp"])].astype(np.float32)

    source = write_v2(tmp_path / "v2", change=late)
    opened = imported(source, tmp_path / "out")
    assert any(columns.SOURCE_TIME in note for note in opened.notes)
    table = pq.read_table(tmp_path / "out/data/chunk-000/file-001.parquet")
    assert table[columns.SOURCE_TIME].to_pylist() == pytest.approx(drift, abs=1e-6)
    assert table["timestamp"].to_pylist() == pytest.approx(np.arange(9) / RATE_HZ)


def test_regular_timestamps_need_no_column_of_their_own(ours):
    assert columns.SOURCE_TIME not in json.loads((ours / INFO).read_text())["features"]


def test_missing_videos_are_counted_and_waived_by_choice(copy, tmp_path):
    (copy / f"videos/chunk-000/{CAMERA}/episode_000001.mp4").unlink()
    message = refusal(copy)
    assert "camera top: the video is missing (1 of 3 episodes: 1)" in message
    assert "--only_whole" in message
    assert "--without_videos" in message
    opened = imported(copy, tmp_path / "whole", only_whole=True)
    assert opened.left_out == (1,)
    assert [len(episode) for episode in load_dataset(tmp_path / "whole").episodes] == [5, 4]
    imported(copy, tmp_path / "blind", cameras=())
    assert load_dataset(tmp_path / "blind").cameras == {}


def test_a_camera_without_any_video_can_be_left_out_by_name(copy, tmp_path):
    table = features()
    table["observation.images.ghost"] = table[CAMERA]
    edit_info(copy, features=table)
    assert "without the camera ghost: name the others in --cameras" in refusal(copy)
    assert "no camera nose in the recording; it has top, ghost" in refusal(copy, cameras=("nose",))
    imported(copy, tmp_path / "out", cameras=("top",))
    assert list(load_dataset(tmp_path / "out").cameras) == ["top"]


def cut_video(root):
    write_video(root / f"videos/chunk-000/{CAMERA}/episode_000001.mp4", [picture(1, row) for row in range(8)])


def zero_video(root):
    (root / f"videos/chunk-000/{CAMERA}/episode_000001.mp4").write_bytes(b"")


def large_video(root):
    frames = [np.zeros((64, 48, 3), np.uint8)] * 9
    write_video(root / f"videos/chunk-000/{CAMERA}/episode_000001.mp4", frames)


def not_finite(root):
    rewrite(root, 1, lambda table: table.set_column(1, "action", pa.array([[1.0, np.nan]] * 9)))


def ragged(root):
    values = [[1.0, 2.0]] * 7 + [[1.0], [1.0, 2.0, 3.0]]
    rewrite(root, 1, lambda table: table.set_column(1, "action", pa.array(values)))


def with_gaps(root):
    rewrite(root, 1, lambda table: table.set_column(1, "action", pa.array([[1.0, 2.0]] * 8 + [None])))


def too_short(root):
    rewrite(root, 1, lambda table: table.slice(0, 8))


def shuffled(root):
    rewrite(root, 1, lambda table: table.take([1, 0, *range(2, 9)]))


def no_action(root):
    rewrite(root, 1, lambda table: table.drop_columns(["action"]))


def no_sentence(root):
    rewrite(root, 1, lambda table: table.set_column(7, "task_index", pa.array([4] * 9)))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (cut_video, "camera top: the video does not hold one frame for each row"),
        (zero_video, "camera top: the video cannot be opened"),
        (large_video, "camera top: the video is 48x64, the metadata says [32, 32, 3]"),
        (not_finite, "its numbers are not finite: frame 0, dim 1 is nan"),
        (ragged, "its action holds vectors of 1 and 2 and 3 numbers"),
        (with_gaps, "its action has 1 gaps"),
        (too_short, "the metadata counts 9 frames, the data file 8"),
        (shuffled, "its frames are not numbered 0 to 8: row 0 is frame 1"),
        (no_action, "its data file lacks the column action"),
        (no_sentence, "its task 4 has no sentence in the metadata"),
    ],
)
def test_a_damaged_episode_is_named_and_can_be_left_out(copy, tmp_path, damage, reason):
    damage(copy)
    message = refusal(copy)
    assert reason in message
    assert "(1 of 3 episodes: 1)" in message
    opened = imported(copy, tmp_path / "out", only_whole=True)
    assert opened.left_out == (1,)


def test_a_torn_line_of_metadata_is_named(copy):
    with (copy / "meta/episodes.jsonl").open("a") as file:
        file.write('{"episode_index": 3, "ta')
    assert "episodes.jsonl, line 4 is damaged" in refusal(copy)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("meta/tasks.jsonl", '{"task": "stack"}\n'),
        ("meta/tasks.jsonl", '{"task_index": "x", "task": "stack"}\n'),
        ("meta/episodes.jsonl", '{"tasks": ["stack"], "length": 5}\n'),
        ("meta/episodes.jsonl", '["stack"]\n'),
        ("meta/info.json", "[1, 2]"),
        (
            "meta/info.json",
            '{"codebase_version": "v2.1", "fps": 10, "features": 3, "data_path": "", "total_episodes": 1}',
        ),
    ],
)
def test_metadata_of_an_unknown_shape_is_one_line(copy, file, text):
    (copy / file).write_text(text)
    assert "\n" not in refusal(copy)


@pytest.mark.parametrize("change", [{"shape": None}, {"shape": "wide"}, {"dtype": "float33"}, {"shape": [[2]]}])
@pytest.mark.parametrize("key", ["action", CAMERA])
def test_a_feature_of_an_unknown_shape_is_one_line(copy, key, change):
    if key == CAMERA and "dtype" in change:
        change = {"dtype": 3}
    table = features()
    table[key] |= change
    edit_info(copy, features=table)
    assert "\n" not in refusal(copy)


def test_git_lfs_pointers_are_recognised_wherever_they_lie(v2, tmp_path):
    for number, name in enumerate(
        (
            "meta/info.json",
            "meta/episodes.jsonl",
            "data/chunk-000/episode_000001.parquet",
            f"videos/chunk-000/{CAMERA}/episode_000002.mp4",
        )
    ):
        root = shutil.copytree(v2, tmp_path / str(number))
        (root / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 12\n")
        assert "git lfs pull" in refusal(root, only_whole=True)


def test_no_data_at_all(copy):
    shutil.rmtree(copy / "data")
    assert "The data files are missing" in refusal(copy)
    assert "The data files are missing" in refusal(copy, only_whole=True)


def test_files_are_found_where_the_template_does_not_lead(copy, tmp_path):
    edit_info(
        copy,
        data_path="data/chunk-{episode_index:03d}/episode_{episode_index:06d}.parquet",
        video_path="videos/chunk-{episode_index:03d}/{video_key}/episode_{episode_index:06d}.mp4",
    )
    opened = imported(copy, tmp_path / "out")
    assert sum("lie elsewhere" in note for note in opened.notes) == 2
    edit_info(copy, data_path="data/{nonsense}.parquet")
    assert "template" in refusal(copy)


def test_joints_with_a_column_each_are_gathered(tmp_path):
    def spread(_, table):
        for whole, prefix in (("observation.state", "observation."), ("action", "action.")):
            values = np.stack(table.pop(whole))
            table |= {f"{prefix}{joint}.pos": values[:, number] for number, joint in enumerate(("pan", "lift"))}

    rest = {key: feature for key, feature in features().items() if key not in ("observation.state", "action")}
    single = {"dtype": "float32", "shape": [1], "names": None}
    table = {f"{prefix}.{joint}.pos": single for joint in ("pan", "lift") for prefix in ("observation", "action")}
    source = write_v2(tmp_path / "spread", change=spread, features=table | rest)
    imported(source, tmp_path / "out")
    imported(write_v2(tmp_path / "plain"), tmp_path / "reference")
    mine, reference = load_dataset(tmp_path / "out"), load_dataset(tmp_path / "reference")
    assert mine.joints == ("pan.pos", "lift.pos")
    np.testing.assert_array_equal(mine.episodes[2].state, reference.episodes[2].state)
    np.testing.assert_array_equal(mine.episodes[2].action, reference.episodes[2].action)


def test_no_state_and_nothing_to_make_it_of(copy):
    edit_info(copy, features={key: feature for key, feature in features().items() if key != "observation.state"})
    assert "no column observation.state" in refusal(copy)


def test_columns_beyond_the_usual(tmp_path):
    """Tables inside a row, a text, a column that is not promised, one that is not there, and a depth map."""

    def more(_, table):
        length = len(table["index"])
        table["pose"] = [np.arange(6.0).reshape(2, 3).tolist()] * length
        table["note"] = [f"row {row}" for row in range(length)]
        table["stray"] = np.zeros(length)

    wide = {
        "pose": {"dtype": "float64", "shape": [2, 3], "names": None},
        "note": {"dtype": "string", "shape": [1], "names": None},
        "ghost": {"dtype": "float32", "shape": [1], "names": None},
        "observation.images.depth": {"dtype": "video", "shape": [8, 8, 1], "info": {"video.is_depth_map": True}},
    }
    opened = imported(write_v2(tmp_path / "v2", change=more, features=features() | wide), tmp_path / "out")
    row = pq.read_table(tmp_path / "out/data/chunk-000/file-000.parquet").slice(2, 1).to_pylist()[0]
    assert row["pose"] == list(range(6))
    assert row["note"] == "row 2"
    assert {"stray", "ghost", "observation.images.depth"}.isdisjoint(row)
    for word in ("pose", "stray", "ghost", "depth"):
        assert any(word in note for note in opened.notes)


def test_single_pictures_inside_the_rows(tmp_path):
    def still(episode, table):
        cells = []
        for row in range(len(table["index"])):
            content = io.BytesIO()
            Image.fromarray(picture(episode, row)).save(content, "PNG")
            cells.append({"bytes": content.getvalue(), "path": f"{row}.png"})
        table["observation.images.still"] = cells

    camera = {"dtype": "image", "shape": [32, 32, 3], "names": ["height", "width", "channels"]}
    table = features(camera=False) | {"observation.images.still": camera}
    imported(write_v2(tmp_path / "v2", change=still, features=table), tmp_path / "out")
    episode = load_dataset(tmp_path / "out").episodes[1]
    np.testing.assert_array_equal(episode.frames["still"][3], picture(1, 3))


def test_a_video_at_another_rate_is_encoded_anew_frame_by_frame(copy, tmp_path):
    for episode, length in enumerate(LENGTHS):
        pictures = [picture(episode, row) for row in range(length)]
        write_video(copy / f"videos/chunk-000/{CAMERA}/episode_{episode:06d}.mp4", pictures, rate_hz=25)
    opened = imported(copy, tmp_path / "out")
    assert any("encoded anew" in note for note in opened.notes)
    frame = load_dataset(tmp_path / "out").episodes[1].frames["top"][7]
    assert np.abs(frame.astype(int) - picture(1, 7)).max() <= LOSSLESS


def test_several_sentences_in_one_episode_stay_with_their_rows(copy, tmp_path):
    with (copy / "meta/tasks.jsonl").open("a") as file:
        file.write(json.dumps({"task_index": 1, "task": "let go"}) + "\n")
    rewrite(copy, 1, lambda table: table.set_column(7, "task_index", pa.array([0] * 6 + [1] * 3)))
    imported(copy, tmp_path / "out")
    again = open_source(tmp_path / "out").episodes[1].table()
    assert [str(sentence) for sentence in again["task"]] == ["stack"] * 6 + ["let go"] * 3


def test_labels_come_only_from_columns_that_tell(v2, tmp_path):
    def told(source, target):
        imported(source, target)
        return [episode.kind for episode in read_view(target).episodes]

    assert told(v2, tmp_path / "a") == ["failure", "success", "failure"]

    def never(_, table):
        table["next.success"] = np.zeros_like(table["next.success"])

    assert told(write_v2(tmp_path / "never", change=never), tmp_path / "b") == ["unlabelled"] * 3

    reward = {key: feature for key, feature in features().items() if key != "next.success"}
    reward |= {"next.reward": {"dtype": "float32", "shape": [1]}, "next.done": {"dtype": "bool", "shape": [1]}}

    def rewarded(value, done=True):
        def change(episode, table):
            last = np.arange(len(table["index"])) == len(table["index"]) - 1
            table["next.reward"] = (last * value * (episode == 1)).astype(np.float32)
            table["next.done"] = last & done

        return change

    cases = {"c": (1.0, True), "d": (0.5, True), "e": (1.0, False)}
    found = {
        name: told(write_v2(tmp_path / f"{name}2", change=rewarded(*case), features=reward), tmp_path / name)
        for name, case in cases.items()
    }
    assert found["c"] == ["failure", "success", "failure"]
    assert found["d"] == ["unlabelled"] * 3  # a shaped reward is no outcome
    assert found["e"] == ["unlabelled", "success", "unlabelled"]  # cut off, so nobody knows
    assert {label.by for label in open_source(tmp_path / "c").labels} == {"import"}


def test_a_dataset_of_ours_keeps_ids_labels_and_history(ours, tmp_path):
    opened = imported(ours, tmp_path / "out", cameras=())
    assert [episode.uid for episode in opened.source.episodes] == [e.uid for e in open_source(ours).episodes]
    assert open_source(tmp_path / "out").labels == open_source(ours).labels
    assert load_dataset(tmp_path / "out").cameras == {}
    assert "no camera nose in the recording; it has top" in refusal(ours, cameras=("nose",))
    assert "data repair" in refusal(ours, only_whole=True)


def test_what_a_dataset_says_itself_is_not_taken_from_the_command_line(v2):
    assert "leave --fps, --task out" in refusal(v2, rate_hz=30, task="other")


def test_a_rate_that_is_no_whole_number(copy):
    edit_info(copy, fps=29.97)
    assert "29.97" in refusal(copy)
    edit_info(copy, fps="fast")
    assert "'fast'" in refusal(copy)
