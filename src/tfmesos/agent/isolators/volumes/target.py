"""Where in a container a volume goes, which must not be the host's or the agent's to lose."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tfmesos.agent.isolators.errors import IsolationFailed
from tfmesos.agent.isolators.sandbox_mount import sandbox_of
from tfmesos.agent.isolators.volumes.tree import TooManyLinks, resolve_in_tree
from tfmesos.agent.sandboxes.inner import make_inner_directory, make_inner_file

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig


def target_of(config: ContainerConfig, container_path: str, sandbox_directory: str, *, is_directory: bool) -> str:
    """The absolute path in the container; a relative one is made in its sandbox. Raises IsolationFailed.

    `sandbox_directory`: where one with an image sees its sandbox.
    """
    if ".." in container_path.split("/"):  # Mesos leaves the sandbox then, or the image (MESOS-8257)
        raise IsolationFailed(f"The container path '{container_path}' of a volume must not contain '..'")
    if not os.path.isabs(container_path):
        return _target_in_sandbox(config, container_path, sandbox_directory, is_directory=is_directory)
    if config.root is not None:
        return target_in_image(config.root.image.tree, container_path)
    if not os.path.exists(container_path):
        raise IsolationFailed(
            f"Mount point '{container_path}' is an absolute path. It must exist if the container shares the host "
            "filesystem"
        )
    return _not_root(container_path, os.path.realpath(container_path))


def target_in_image(tree: str, path: str) -> str:
    """An absolute path in an image without the links on its way. Raises IsolationFailed for its root."""
    try:
        return _not_root(path, resolve_in_tree(tree, path))
    except TooManyLinks:
        raise IsolationFailed(f"Mount point '{path}': links in the image lead to each other") from None


def _not_root(path: str, resolved: str) -> str:
    if resolved == "/":
        raise IsolationFailed(f"Mount point '{path}' is the root of the container")
    return resolved


def _target_in_sandbox(
    config: ContainerConfig, container_path: str, sandbox_directory: str, *, is_directory: bool
) -> str:
    make = make_inner_directory if is_directory else make_inner_file
    try:
        make(sandbox_of(config), container_path)
    except OSError as error:
        raise IsolationFailed(
            f"Failed to create mount point '{container_path}' in the sandbox: {error.strerror}"
        ) from error
    sandbox = sandbox_directory if config.root is not None else config.directory
    return os.path.normpath(f"{sandbox}/{container_path}")
