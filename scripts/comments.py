"""The comments beside the fields of a configuration class: they are the help text, so they cannot drift from it.

draccus looks for them line by line with a pattern, which a type with quotes (``Literal["a", "b"]``) does not match.
"""

import ast
import inspect
import io
import textwrap
import tokenize
from functools import cache


def comment_of(config_class: type, name: str) -> str:
    """What is written beside a field: after it, else as a docstring below it, else in the lines above it."""
    for ancestor in config_class.__mro__:
        comments = comments_in(ancestor)
        if name in comments:
            return comments[name]
    return ""


@cache
def comments_in(config_class: type) -> dict[str, str]:
    """Field name -> comment, for the fields a class itself defines; empty where the source cannot be had."""
    try:
        source = textwrap.dedent(inspect.getsource(config_class))
    except (OSError, TypeError):
        return {}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    by_line = {token.start[0]: token for token in tokens if token.type == tokenize.COMMENT}
    definition = ast.parse(source).body[0]
    assert isinstance(definition, ast.ClassDef)
    found: dict[str, str] = {}
    for node, following in zip(definition.body, [*definition.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            beside = [by_line[line] for line in range(node.lineno, (node.end_lineno or 0) + 1) if line in by_line]
            found[node.target.id] = joined(beside) or docstring(following) or joined(above(by_line, node.lineno))
    return found


def above(by_line: dict[int, tokenize.TokenInfo], line: int) -> list[tokenize.TokenInfo]:
    """The unbroken comment lines that end right above ``line``."""
    lines: list[tokenize.TokenInfo] = []
    while (comment := by_line.get(line - 1)) is not None and comment.line.lstrip().startswith("#"):
        lines.insert(0, comment)
        line -= 1
    return lines


def docstring(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return ""


def joined(comments: list[tokenize.TokenInfo]) -> str:
    return " ".join(comment.string.lstrip("# ").strip() for comment in comments)
