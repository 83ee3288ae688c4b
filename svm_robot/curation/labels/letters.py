"""What a person types for a label: a letter for the outcome, words for the tags."""

from svm_robot.rollout.episode import Outcome

VERDICTS = {"s": Outcome.SUCCESS, "f": Outcome.FAILURE, "u": Outcome.UNSURE, "a": Outcome.ABORTED}
LETTERS = {outcome: letter for letter, outcome in VERDICTS.items()}


def split_tags(text: str) -> tuple[str, ...]:
    """``slip, late`` as two words, each once; also separated by semicolons."""
    return tuple(dict.fromkeys(word.strip() for word in text.replace(";", ",").split(",") if word.strip()))
