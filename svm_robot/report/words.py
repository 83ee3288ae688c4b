"""How numbers are written in sentences and on axes."""

from collections.abc import Mapping

from svm_robot.report.runs import Rate

TITLES: Mapping[str, str] = {"svm": "SVM", "outcome": "outcome only"}


def title(shaping: str) -> str:
    """Name of a reward form inside a sentence."""
    return TITLES.get(shaping, shaping)


def percent(value: float) -> str:
    """``94 %`` with a narrow space."""
    return f"{value:.0%}".replace("%", "\u202f%")


def interval(rate: Rate) -> str:
    """``89 to 97 %``."""
    return f"{100 * rate.low:.0f} to {percent(rate.high)}"


def spoken(rate: Rate) -> str:
    """``94 % (89 to 97 %)``."""
    return f"{percent(rate.value)} ({interval(rate)})"


def thousands(value: float) -> str:
    """``12 000`` with a thin space."""
    return f"{value:,.0f}".replace(",", "\u202f")


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def signed(value: float) -> str:
    """``+6.1`` or ``−5.9``."""
    return f"{value:+.1f}".replace("-", "\u2212")


def sentence(text: str) -> str:
    """With a full stop, if it has none."""
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else text + "."


def capital(text: str) -> str:
    """First letter large, the rest untouched."""
    return text[:1].upper() + text[1:]
