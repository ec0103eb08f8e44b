"""The rules for ids and roles."""

_MAX_ID_BYTES = 255
_MAX_ROLE_LENGTH = 1024
"""Ours: shares are counted for each ancestor of a role, and a role of a megabyte may have half a million."""
_ROLE_FORBIDDEN = frozenset("\t\n\v\f\r \x7f")


def id_error(text: str) -> str | None:
    """Why this cannot be an id of a framework, task, executor or agent; None if it can."""
    if not text:
        return "ID must not be empty"
    if len(text.encode(errors="surrogatepass")) > _MAX_ID_BYTES:
        return f"ID must not be greater than {_MAX_ID_BYTES} characters"
    if text in (".", ".."):
        return f"'{text}' is disallowed"
    if any(char < " " or char in "\x7f/\\" for char in text):
        return f"'{text}' contains invalid characters"
    return None


def role_error(role: str) -> str | None:
    """Why this cannot be a role; None if it can."""
    if role == "*":
        return None
    if not role:
        return "Role names cannot be the empty string"
    if len(role) > _MAX_ROLE_LENGTH:
        return f"Role names must not be longer than {_MAX_ROLE_LENGTH} characters"
    if role.startswith("/"):
        return f"Role '{role}' cannot start with a slash"
    if role.endswith("/"):
        return f"Role '{role}' cannot end with a slash"
    if "//" in role:
        return f"Role '{role}' cannot contain two adjacent slashes"
    return next(filter(None, (_component_error(role, part) for part in role.split("/"))), None)


def _component_error(role: str, part: str) -> str | None:
    if part in (".", "..", "*"):
        return f"Role '{role}' cannot include '{part}' as a component"
    if part.startswith("-"):
        return f"Role component '{part}' is invalid because it starts with a dash"
    if not _ROLE_FORBIDDEN.isdisjoint(part):
        return f"Role component '{part}' is invalid because it contains backspace or whitespace"
    return None
