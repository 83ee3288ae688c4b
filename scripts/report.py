"""``svm-robot report RUN...``: one HTML page about one or more runs, and their figures as JSON."""

from dataclasses import dataclass
from pathlib import Path

from svm_robot.errors import ConfigError
from svm_robot.scripts.cli import parse, split_positionals

USAGE = "svm-robot report RUN [RUN ...] [--out=report.html] [--summary=summary.json] [--base=DATASET] [--stages=FILE]"


@dataclass
class ReportConfig:
    """What to write."""

    out: Path = Path("report.html")  # the page; an older one is replaced
    summary: Path | None = None  # also write the figures as JSON to this file
    base: Path | None = None  # dataset whose pictures are shown when the runs kept none
    stages: Path | None = None  # JSON file with the seconds of the stages around the runs: {"record": 14.5, ...}


def main(args: list[str]) -> int:
    words, options = split_positionals(args, USAGE, 1, None)
    config = parse(ReportConfig, options, usage=USAGE)
    for path in (config.out, config.summary):
        if path is not None and path.is_dir():
            raise ConfigError(f"{path} is a folder; name a file, for example {path / 'report.html'}")

    from svm_robot.data import load_dataset
    from svm_robot.report.collect import collect
    from svm_robot.report.page import kept_examples, write_page
    from svm_robot.report.recorded import recorded_examples
    from svm_robot.report.summary import read_stages, write_summary
    from svm_robot.report.verdict import headline
    from svm_robot.scripts.stale import warn_if_stale

    comparison = collect([Path(word) for word in words])
    if config.base is not None:
        warn_if_stale([Path(word) for word in words], load_dataset(config.base, frames=False))
    examples = kept_examples(comparison)
    if not examples and config.base is not None:
        examples = recorded_examples(config.base)
    stages = read_stages(config.stages) if config.stages is not None else {}
    write_page(config.out, comparison, examples, stages)
    if config.summary is not None:
        write_summary(config.summary, comparison, stages)
    print(f"{headline(comparison).text}.")
    print(f"report: {config.out}" + (f", figures: {config.summary}" if config.summary is not None else ""))
    return 0
