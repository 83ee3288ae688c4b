"""A folder as one value, to show that nothing in it changed."""

import hashlib
from collections.abc import Container
from pathlib import Path


def tree_hash(root: Path, leave_out: Container[str] = ()) -> str:
    """Names and contents of everything below a folder."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.name in leave_out:
            continue
        digest.update(str(path.relative_to(root)).encode() + b"\0")
        if path.is_symlink():
            digest.update(str(path.readlink()).encode())
        elif path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()
