"""Where a path leads in the tree of an image, as if that were the root: no link leads out of it.

kernel: openat2(2), RESOLVE_IN_ROOT. Nothing writes to the tree meanwhile.
"""

from __future__ import annotations

import os

_MAX_LINKS = 40  # kernel: path_resolution(7)


class TooManyLinks(ValueError):
    """Links lead to each other."""


def resolve_in_tree(tree: str, path: str) -> str:
    """The absolute path in the tree without links and `..`; what is not there is taken as it is written."""
    left = _parts(path)
    found: list[str] = []
    links = 0
    while left:
        part = left.pop(0)
        if part == "..":
            del found[-1:]
            continue
        target = _link(os.path.join(tree, *found, part))
        if target is None:
            found.append(part)
            continue
        links += 1
        if links > _MAX_LINKS:
            raise TooManyLinks(path)
        if target.startswith("/"):
            found.clear()
        left = _parts(target) + left
    return "/" + "/".join(found)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:  # it is none, or is not there
        return None
