"""How URIs are shown to people: without what only their servers are to know."""

from __future__ import annotations

import re

_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:\d*)?")


def shown(uri: str) -> str:
    """Without name and password, and without query and fragment, which may hold a key."""
    scheme, separator, rest = uri.partition("://")
    if not separator or scheme == "file":
        return uri
    (authority, *_) = re.split(r"[/?#]", rest, maxsplit=1)
    host = authority.rpartition("@")[2]
    if _HOST.fullmatch(host) is None:  # a password with a slash, or worse
        return f"{scheme}://..."
    (path, *hidden) = re.split(r"[?#]", rest[len(authority) :], maxsplit=1)
    return f"{scheme}://{host}{path}{'?...' if hidden else ''}"
