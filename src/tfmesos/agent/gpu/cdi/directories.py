"""The CDI specifications of this machine.

/etc/cdi/*.{json,yaml,yml}      what an administrator has written
/var/run/cdi/*.{json,yaml,yml}  what programs make anew after each start of the machine; comes first
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

from tfmesos.agent.gpu.cdi.specification import BadSpecification, Specification, parse

_DIRECTORIES = ("var/run/cdi", "etc/cdi")
_SUFFIXES = (".json", ".yaml", ".yml")
_log = logging.getLogger(__name__)


def read_specifications(root: Path = Path("/")) -> list[Specification]:
    """All of them; one that cannot be read is told in the log and left out."""
    found = []
    for path in _files(root):
        try:
            found.append(parse(_value(path)))
        except BadSpecification as error:
            _log.warning("the CDI specification %s is left out: %s", path, error)
    return found


def _files(root: Path) -> Iterator[Path]:
    for directory in _DIRECTORIES:
        try:
            paths = sorted((root / directory).iterdir())
        except OSError:  # there is none, mostly
            continue
        yield from (path for path in paths if path.suffix in _SUFFIXES)


def _value(path: Path) -> object:
    try:
        text = path.read_text()
        return json.loads(text) if path.suffix == ".json" else _yaml(text)
    except (OSError, ValueError) as error:
        raise BadSpecification(str(error)) from error


def _yaml(text: str) -> object:
    import yaml  # only here: few machines have such a file

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadSpecification(str(error)) from error
