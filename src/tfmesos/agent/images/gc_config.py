"""--image_gc_config: when images that no container uses go (Mesos 1.11: ImageGcConfig). Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tfmesos.flags import FlagError

_HEADROOM = 0.1
_INTERVAL_NS = 3600 * 10**9
"""Mesos 1.11: an hour in its own example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageGcConfig:
    """`headroom`: the share of the disk to keep free; `excluded`: names of images that stay."""

    headroom: float
    interval_s: float
    excluded: tuple[str, ...]


def parse_image_gc_config(text: str) -> ImageGcConfig:
    """Of `{"image_disk_headroom":0.1,"image_disk_watch_interval":{"nanoseconds":1},"excluded_images":[]}`.

    What is missing has a default. Raises FlagError.
    """
    try:
        value = json.loads(text)
    except ValueError as error:
        raise FlagError(f"not a JSON object: {error}") from error
    if not isinstance(value, dict):
        raise FlagError("not a JSON object")
    headroom = value.get("image_disk_headroom", _HEADROOM)
    if isinstance(headroom, bool) or not isinstance(headroom, int | float) or not 0 <= headroom <= 1:
        raise FlagError(f"image_disk_headroom is {headroom!r}: a number from 0 to 1 is wanted")
    return ImageGcConfig(
        headroom=headroom,
        interval_s=_nanoseconds(value.get("image_disk_watch_interval", {"nanoseconds": _INTERVAL_NS})) / 1e9,
        excluded=_names(value.get("excluded_images", [])),
    )


def _nanoseconds(value: object) -> int:
    found = value.get("nanoseconds") if isinstance(value, dict) else None
    if isinstance(found, str) and found.isascii() and found.isdigit():
        found = int(found)  # protobuf's JSON has 64-bit numbers as texts, too
    if isinstance(found, bool) or not isinstance(found, int) or found <= 0:
        raise FlagError(f'image_disk_watch_interval is {value!r}: {{"nanoseconds": N}} above 0 is wanted')
    return found


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise FlagError(f"excluded_images is {value!r}: a list is wanted")
    return tuple(_name(entry) for entry in value)


def _name(entry: object) -> str:
    docker = entry.get("docker") if isinstance(entry, dict) else None
    name = docker.get("name") if isinstance(docker, dict) else None
    if not isinstance(name, str):
        raise FlagError(f'{entry!r} is no image: {{"type":"DOCKER","docker":{{"name":"…"}}}} is wanted')
    return name
