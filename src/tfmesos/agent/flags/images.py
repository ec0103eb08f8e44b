"""Flags of images: where they come from and how long they are kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tfmesos.flags import FlagError, flag

DEFAULT_REGISTRY = "https://registry-1.docker.io"


def _parse_image_providers(text: str) -> tuple[str, ...]:
    names = tuple(part.strip().upper() for part in text.split(","))
    for name in names:
        if name == "APPC":
            raise FlagError("images of APPC are not supported; it can be docker")
        if name != "DOCKER":
            raise FlagError(f"Unknown image type '{name}'; it can be docker")
    return names


def _parse_object(text: str) -> Mapping[str, object]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise FlagError(f"not a JSON object: {error}") from error
    if not isinstance(value, dict):
        raise FlagError("not a JSON object")
    return value


def _parse_docker_config(text: str) -> str:
    _parse_object(text)
    return text


def _parse_image_gc_config(text: str) -> str:
    from tfmesos.agent.images import parse_image_gc_config  # only here: help must come at once

    parse_image_gc_config(text)
    return text


@dataclass(frozen=True, kw_only=True)
class ImageFlags:
    """A part of AgentFlags."""

    __slots__ = ()

    image_providers: tuple[str, ...] = flag(
        default=(),
        parse=_parse_image_providers,
        show=",".join,
        help="which images containers may have: docker (which is OCI's, too); wants filesystem/linux in --isolation; "
        "without it none",
    )
    image_provisioner_backend: str | None = flag(
        default=None,
        help="how a container gets a root file system of its own from an image: overlay, or copy; without it overlay "
        "where it works",
    )
    docker_registry: str = flag(
        default=DEFAULT_REGISTRY,
        help="where images come from whose name says no registry: a URL, or the path of a folder with archives "
        "(repo/name:tag is <folder>/repo/name:tag.tar, of `docker save` or OCI's)",
    )
    docker_store_dir: str = flag(
        default="/tmp/mesos/store/docker", help="folder of unpacked images; agents of this machine may share it"
    )
    docker_config: str | None = flag(
        default=None,
        parse=_parse_docker_config,
        json=True,
        secret=True,
        help="JSON, or the path of a file, as Docker's config.json: who to be for which registry (auths)",
    )
    docker_ignore_runtime: bool = flag(
        default=False, help="whether entry point, command, environment and working directory of images are ignored"
    )
    image_gc_config: str | None = flag(
        default=None,
        parse=_parse_image_gc_config,
        json=True,
        help='JSON of when unused images go: {"image_disk_headroom":0.1,"image_disk_watch_interval":{"nanoseconds":'
        '60000000000},"excluded_images":[]}; without it only when an operator asks',
    )
