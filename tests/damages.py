"""Ways in which datasets get damaged, for tests of what examines and mends them."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

INFO = "meta/info.json"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"


def data_files(root: Path) -> list[Path]:
    return sorted(root.glob("data/*/*.parquet"))


def meta_files(root: Path) -> list[Path]:
    return sorted(root.glob("meta/episodes/*/*.parquet"))


def video_files(root: Path) -> list[Path]:
    return sorted(root.glob("videos/*/*/*.mp4"))


def append_text(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def edit_info(root: Path, **changes: object) -> None:
    path = root / INFO
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def edit_feature(root: Path, key: str, **changes: object) -> None:
    features = json.loads((root / INFO).read_text())["features"]
    features[key] |= changes
    edit_info(root, features=features)


def info_of(root: Path) -> dict:
    return json.loads((root / INFO).read_text())


def cut(path: Path, share: float) -> None:
    """Keep only the first part of a file."""
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.read_table(path)), path)


def with_column(name: str, change: Callable[[list], object]) -> Callable[[pa.Table], pa.Table]:
    """Replace one column by what ``change`` makes of its list of values."""

    def apply(table: pa.Table) -> pa.Table:
        place = table.column_names.index(name)
        values = change(table[name].to_pylist())
        kind = table.schema.field(name).type
        array = values if isinstance(values, pa.Array) else pa.array(values, kind)
        return table.set_column(place, name, array)

    return apply


def nan_at(frame: int, dim: int) -> Callable[[list], list]:
    def change(rows: list) -> list:
        rows = [list(row) for row in rows]
        rows[frame][dim] = float("nan")
        return rows

    return change


def encode_again(
    path: Path, keep: Callable[[int], bool], rate_hz: int = 10, size: tuple[int, int] | None = None
) -> None:
    """Write a video anew with only some of its frames, one after the other."""
    with av.open(str(path)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    chosen = [frame for number, frame in enumerate(frames) if keep(number)]
    height, width = size or chosen[0].shape[:2]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("h264", rate_hz, options={"crf": "5", "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv444p"
        for frame in chosen:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(frame[:height, :width]))))
        container.mux(stream.encode(None))


def copy_over(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def append_metadata_row(root: Path, index: int) -> None:
    """Another file with a metadata row, as if one more episode had been described."""
    table = pq.read_table(meta_files(root)[-1]).slice(0, 1)
    table = with_column("episode_index", lambda _: [index])(table)
    pq.write_table(table, meta_files(root)[-1].with_name("file-900.parquet"))


def drop_metadata_row(root: Path, index: int) -> None:
    for file in meta_files(root):
        table = pq.read_table(file)
        kept = [row for row, number in enumerate(table["episode_index"].to_pylist()) if number != index]
        if kept:
            pq.write_table(table.take(kept), file)
        else:
            file.unlink()


def drop_data_rows(root: Path, rows: slice) -> None:
    file = data_files(root)[-1]
    table = pq.read_table(file)
    gone = set(range(len(table))[rows])
    pq.write_table(table.take([row for row in range(len(table)) if row not in gone]), file)


@dataclass(frozen=True)
class Damage:
    """One way to spoil a dataset."""

    name: str
    apply: Callable[[Path], object]
    hidden: str = ""
    """Why LeRobot still reads every item; empty when it does not."""
    harmless: bool = False
    """True when nothing is wrong afterwards."""
    only: tuple[str, ...] = ("own", "video", "image")
    """Kinds of datasets it can be done to: our own, LeRobot's with videos, LeRobot's with pictures in the rows."""


def last(files: Callable[[Path], list[Path]]) -> Callable[[Path], Path]:
    return lambda root: files(root)[-1]


VIDEOS = ("own", "video")
UNUSED = "nothing in LeRobot reads this while it loads items"

DAMAGES = [
    Damage("nothing", lambda root: None, harmless=True),
    # metadata
    Damage("info missing", lambda root: (root / INFO).unlink()),
    Damage("info torn", lambda root: cut(root / INFO, 0.5)),
    Damage("info is a list", lambda root: (root / INFO).write_text("[]")),
    Damage("info is no text", lambda root: (root / INFO).write_bytes(b"\xff\xfe\x00")),
    Damage("info is a folder", lambda root: ((root / INFO).unlink(), (root / INFO).mkdir())),
    Damage("info nested too deep", lambda root: (root / INFO).write_text("[" * 100_000)),
    Damage("version 2.1", lambda root: edit_info(root, codebase_version="v2.1")),
    Damage("a fork's version", lambda root: edit_info(root, codebase_version="2.3.0")),
    Damage("no version", lambda root: edit_info(root, codebase_version=None)),
    Damage("a future version", lambda root: edit_info(root, codebase_version="v4.0"), "it warns and tries"),
    Damage("version 3.1", lambda root: edit_info(root, codebase_version="v3.1"), harmless=True),
    Damage("no rate", lambda root: edit_info(root, fps=0)),
    Damage("rate is text", lambda root: edit_info(root, fps="fast")),
    Damage("counts episodes ahead", lambda root: edit_info(root, total_episodes=5)),
    Damage("counts frames ahead", lambda root: edit_info(root, total_frames=99)),
    Damage("counts frames behind", lambda root: edit_info(root, total_frames=3), UNUSED),
    Damage("counts no tasks", lambda root: edit_info(root, total_tasks=0)),
    Damage("unknown type of column", lambda root: edit_feature(root, "action", dtype="float31")),
    Damage("another width of column", lambda root: edit_feature(root, "action", shape=[3])),
    Damage("another kind of column", lambda root: edit_feature(root, "action", dtype="string"), "it converts"),
    Damage("features gone", lambda root: edit_info(root, features={})),
    Damage("template without a number", lambda root: edit_info(root, data_path="data/{x}.parquet"), UNUSED),
    Damage("no video path", lambda root: edit_info(root, video_path=None), only=VIDEOS),
    Damage("tasks missing", lambda root: (root / "meta/tasks.parquet").unlink()),
    Damage("tasks torn", lambda root: cut(root / "meta/tasks.parquet", 0.5)),
    Damage("stats missing", lambda root: (root / "meta/stats.json").unlink(), "it goes on without"),
    Damage("stats torn", lambda root: cut(root / "meta/stats.json", 0.5)),
    Damage("stats of something else", lambda root: spoil_stats(root), "only training looks at them"),
    Damage("episodes missing", lambda root: shutil.rmtree(root / "meta/episodes")),
    Damage("episodes torn", lambda root: cut(last(meta_files)(root), 0.5)),
    Damage("a metadata row twice", lambda root: append_metadata_row(root, 0), "it finds rows by position"),
    Damage("a metadata row of nobody", lambda root: append_metadata_row(root, 9), harmless=True),
    Damage("last metadata row gone", lambda root: drop_metadata_row(root, 2), "only videos need the row"),
    Damage("a metadata row gone in the middle", lambda root: drop_metadata_row(root, 1), "only videos need the row"),
    Damage("metadata with a column more", lambda root: spoil_schema(root)),
    # data
    Damage("data missing", lambda root: last(data_files)(root).unlink()),
    Damage("data cut by 100 bytes", lambda root: cut(last(data_files)(root), 0.97)),
    Damage("data empty", lambda root: last(data_files)(root).write_bytes(b"")),
    Damage("data is a pointer", lambda root: last(data_files)(root).write_text(POINTER)),
    Damage("data is something else", lambda root: last(data_files)(root).write_bytes(b"x" * 5000)),
    Damage("last rows gone", lambda root: drop_data_rows(root, slice(-2, None))),
    Damage("first rows gone", lambda root: drop_data_rows(root, slice(0, 2))),
    Damage(
        "not a number",
        lambda root: rewrite(last(data_files)(root), with_column("action", nan_at(1, 1))),
        "it does not look at values",
    ),
    Damage(
        "column gone", lambda root: rewrite(last(data_files)(root), lambda t: t.drop(["action"])), "it fills in None"
    ),
    Damage("column more", lambda root: rewrite(last(data_files)(root), lambda t: t.append_column("x", t["index"]))),
    Damage(
        "index jumps",
        lambda root: rewrite(last(data_files)(root), with_column("index", lambda v: [i + 7 for i in v])),
        "it reads by position, and the index only for windows in time",
    ),
    Damage(
        "unknown task",
        lambda root: rewrite(last(data_files)(root), with_column("task_index", lambda v: [5 for _ in v])),
    ),
    Damage("rows of nobody", lambda root: add_rows_of_nobody(root), only=("video", "image"), harmless=True),
    Damage(
        "file of nobody", lambda root: copy_over(data_files(root)[-1], next_to(data_files(root)[-1])), harmless=True
    ),
    Damage("torn file of nobody", lambda root: next_to(data_files(root)[-1]).write_bytes(b"PAR1torn")),
    Damage("staging left behind", lambda root: copy_over(root / INFO, root / ".recording/x.mp4"), harmless=True),
    Damage("torn label", lambda root: append_text(root / "labels.jsonl", '{"epi'), harmless=True),
    Damage("label is nonsense", lambda root: (root / "labels.jsonl").write_text("good\n"), "labels are our own"),
    # pictures
    Damage("video missing", lambda root: last(video_files)(root).unlink(), only=VIDEOS),
    Damage("video cut", lambda root: cut(last(video_files)(root), 0.6), only=VIDEOS),
    Damage("video empty", lambda root: last(video_files)(root).write_bytes(b""), only=VIDEOS),
    Damage("video is a pointer", lambda root: last(video_files)(root).write_text(POINTER), only=VIDEOS),
    Damage("video 3 frames short", lambda root: encode_again(last(video_files)(root), lambda n: n > 2), only=VIDEOS),
    Damage("video 1 of 5 frames", lambda root: encode_again(last(video_files)(root), lambda n: not n % 5), only=VIDEOS),
    Damage(
        "video of another size",
        lambda root: encode_again(last(video_files)(root), lambda n: True, size=(16, 16)),
        "it does not compare sizes",
        only=VIDEOS,
    ),
    Damage(
        "video changed since",
        lambda root: encode_again(last(video_files)(root), lambda n: True),
        "it knows no digests",
        only=("own",),
    ),
    Damage("video folder gone", lambda root: shutil.rmtree(root / "videos"), only=VIDEOS),
    Damage("a picture empty", lambda root: spoil_picture(root, b""), only=("image",)),
    Damage("a picture torn", lambda root: spoil_picture(root, None), only=("image",)),
]
"""Every one is done to every kind of dataset that it can be done to."""


def next_to(path: Path) -> Path:
    return path.with_name("file-950.parquet")


def spoil_stats(root: Path) -> None:
    path = root / "meta/stats.json"
    stats = json.loads(path.read_text())
    stats["action"]["mean"] = [1e6, 1e6]
    path.write_text(json.dumps(stats))


def spoil_schema(root: Path) -> None:
    """Two files of metadata, of which the later one has a column more; LeRobot reads them as one table."""
    file = meta_files(root)[-1]
    table = pq.read_table(file)
    if len(table) > 1:
        pq.write_table(table.slice(0, len(table) - 1), file)
        file, table = file.with_name("file-900.parquet"), table.slice(len(table) - 1)
    pq.write_table(table.append_column("svm/more", pa.array([1] * len(table))), file)


def add_rows_of_nobody(root: Path) -> None:
    """A killed writer's last episode: rows that nothing describes, after all others."""
    file = data_files(root)[-1]
    table = pq.read_table(file)
    more = with_column("episode_index", lambda values: [3 for _ in values])(table.slice(len(table) - 2))
    pq.write_table(pa.concat_tables([table, more]), file)


def spoil_picture(root: Path, content: bytes | None) -> None:
    """One picture inside the rows: other bytes, or (None) only half of its own."""
    file = data_files(root)[-1]
    table = pq.read_table(file)
    key = next(name for name in table.column_names if name.startswith("observation.images."))
    rows = table[key].to_pylist()
    rows[1]["bytes"] = rows[1]["bytes"][: len(rows[1]["bytes"]) // 2] if content is None else content
    place = table.column_names.index(key)
    pq.write_table(table.set_column(place, key, pa.array(rows, table.schema.field(key).type)), file)
