"""What an image gives a container: a tree that nobody writes to, and how its author wants it to be run. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRuntime:
    """The `config` of an image's configuration (OCI image-spec: config.md; Docker has the same).

    `environment`: `NAME=value` each, as it is written there. `entrypoint` and `cmd`: empty if there is none.
    """

    environment: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    working_directory: str = ""
    user: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_config(cls, config: bytes) -> ImageRuntime:
        """Of an image's configuration; parts that are not what they should be count as missing. Raises ValueError."""
        try:
            whole = json.loads(config)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        found = whole.get("config") if isinstance(whole, dict) else None
        if not isinstance(found, dict):
            found = {}
        labels = found.get("Labels")
        return cls(
            environment=_texts(found.get("Env")),
            entrypoint=_texts(found.get("Entrypoint")),
            cmd=_texts(found.get("Cmd")),
            working_directory=_text(found.get("WorkingDir")),
            user=_text(found.get("User")),
            labels={name: _text(value) for name, value in labels.items()} if isinstance(labels, dict) else {},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRoot:
    """An unpacked image. `image`: its name, as it was asked for; `digest`: of its manifest for this machine.

    `tree`: the path of a directory that is shared by all who hold the image; nobody writes there.
    """

    image: str
    digest: str
    tree: str
    runtime: ImageRuntime


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """The root file system of one container: where it is to be, and what it is made of. Nothing is mounted yet.

    `lower` None: `rootfs` is a copy of the image, complete. Else an overlay is to be mounted on `rootfs`, with `lower`
    (the image's tree), `upper` and `work`.
    """

    image: ImageRoot
    rootfs: str
    lower: str | None = None
    upper: str | None = None
    work: str | None = None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
