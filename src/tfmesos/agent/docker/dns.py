"""--default_container_dns: name servers of containers whose task names none (Mesos 1.11: ContainerDNSInfo). Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tfmesos.agent.docker.arguments import Dns
from tfmesos.flags import FlagError

_MODES = ("BRIDGE", "USER")
_FIELDS = ("nameservers", "search", "options")


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultDns:
    """For containers in networks of one mode; with a name only in the network of that name."""

    mode: str
    network: str | None
    dns: Dns


def parse_default_dns(text: str) -> tuple[DefaultDns, ...]:
    """Of `{"docker":[{"network_mode":"BRIDGE","dns":{"nameservers":["10.0.0.1"]}}]}`. Raises FlagError."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise FlagError(f"not a JSON object: {error}") from error
    if not isinstance(value, dict) or not isinstance(entries := value.get("docker", []), list):
        raise FlagError('expecting a JSON object {"docker": [...]}')
    if value.get("mesos"):
        raise FlagError("entries for mesos want network/cni, which is not supported; docker is")
    found = tuple(map(_entry, entries))
    kinds = [(one.mode, one.network) for one in found]
    for mode, network in kinds:
        if kinds.count((mode, network)) > 1:
            raise FlagError(f"there are several entries for {mode}{f' network {network}' if network else ''}")
    return found


def default_dns(entries: tuple[DefaultDns, ...], mode: str, network: str) -> Dns:
    """What a container in this network gets: by its name, else by its mode; none if nothing fits."""
    fitting = {one.network: one.dns for one in entries if one.mode == mode}
    return fitting.get(network) or fitting.get(None) or Dns()


def _entry(entry: object) -> DefaultDns:
    if not isinstance(entry, dict):
        raise FlagError(f"{entry!r}: an object is wanted")
    mode, network, dns = entry.get("network_mode"), entry.get("network_name"), entry.get("dns")
    if mode not in _MODES:
        raise FlagError(f"network_mode {mode!r}: it can be {' or '.join(_MODES)}")
    if network is not None and not isinstance(network, str):
        raise FlagError(f"network_name {network!r}: a text is wanted")
    if not isinstance(dns, dict) or set(dns) - set(_FIELDS):
        raise FlagError(f"dns {dns!r}: an object of {', '.join(_FIELDS)} is wanted")
    nameservers, search, options = (_texts(dns, name) for name in _FIELDS)
    return DefaultDns(
        mode=mode, network=network or None, dns=Dns(nameservers=nameservers, search=search, options=options)
    )


def _texts(dns: Mapping[str, object], name: str) -> tuple[str, ...]:
    values = dns.get(name, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise FlagError(f"{name} {values!r}: a list of texts is wanted")
    return tuple(values)
