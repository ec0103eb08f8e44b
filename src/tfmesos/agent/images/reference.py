"""Names of images. Pure.

`[registry/]repository[:tag][@digest]`: what is before the first slash is a registry if it has a dot or a colon, or is
localhost (Mesos 1.11: src/docker/spec.cpp). What else is a name is Docker's grammar (distribution/reference).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tfmesos.agent.images.errors import BadReference

LATEST = "latest"
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
_REGISTRY = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?")
_MAX_LENGTH = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What a name says; `str` prints it as Mesos does: the tag only without a digest, no tag where there was none."""

    registry: str | None = None
    repository: str
    tag: str | None = None
    digest: str | None = None

    def __str__(self) -> str:
        return self.repository_name + self.version

    @property
    def repository_name(self) -> str:
        """With its registry."""
        return self.repository if self.registry is None else f"{self.registry}/{self.repository}"

    @property
    def version(self) -> str:
        """`@digest`, or `:tag`, or nothing."""
        if self.digest is not None:
            return f"@{self.digest}"
        return "" if self.tag is None else f":{self.tag}"

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Raises BadReference."""
        rest, at, digest = text.partition("@")
        if at and not _DIGEST.fullmatch(digest):
            raise BadReference(text, f"'{digest}' is no digest: sha256: and 64 digits from 0 to f are wanted")
        first, slash, repository = rest.partition("/")
        registry = None
        if slash and ("." in first or ":" in first or first == "localhost"):
            if not _REGISTRY.fullmatch(first):
                raise BadReference(text, f"'{first}' is no registry: host or host:port is wanted")
            registry, rest = first, repository
        repository, tag = _split_tag(rest)
        if tag is not None and not _TAG.fullmatch(tag):
            raise BadReference(text, f"'{tag}' is no tag: up to 128 letters, digits, '_', '.' and '-' are wanted")
        if not _REPOSITORY.fullmatch(repository) or len(repository) > _MAX_LENGTH:
            raise BadReference(
                text,
                f"'{repository}' is no repository: small letters and digits are wanted, with "
                "single '.', '_', '-' or '/' between",
            )
        return cls(registry=registry, repository=repository, tag=tag, digest=digest or None)


def is_digest(text: str) -> bool:
    """Whether it is one: it may be part of a path then."""
    return _DIGEST.fullmatch(text) is not None


def _split_tag(text: str) -> tuple[str, str | None]:
    before, colon, after = text.rpartition(":")
    return (before, after) if colon and "/" not in after else (text, None)
