"""Who to be for which registry, from Docker's config.json. Pure; no text here says a secret.

Registries are told apart by host and port alone; all of docker.io are one (Mesos 1.11: src/docker/spec.cpp).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tfmesos.agent.images.errors import BadCredentials
from tfmesos.agent.images.sources import Registry

_HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Login:
    """What a registry wants to see. `auth`: base64 of user:password; `token`: of an identity, given beside it."""

    auth: str = field(repr=False)
    token: str = field(default="", repr=False)

    @property
    def secrets(self) -> Collection[str]:
        """What must be in no text."""
        password = base64.b64decode(self.auth).decode(errors="replace").partition(":")[2]
        return [secret for secret in (self.auth, password, self.token) if secret]

    def hidden(self, text: str) -> str:
        """The text without what is secret."""
        for secret in self.secrets:
            text = text.replace(secret, _HIDDEN)
        return text


def parse_docker_config(text: str) -> Mapping[str, Login]:
    """Host of a registry → login, of `{"auths": {…}}`, or of what is in there alone (old Docker's .dockercfg).

    Entries without a login (a credential helper has it) are none. Raises BadCredentials.
    """
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # a half of a surrogate pair is no text
    except (ValueError, RecursionError):
        raise BadCredentials("the docker config is not JSON") from None
    entries = value.get("auths", value) if isinstance(value, dict) else None
    if not isinstance(entries, dict):
        raise BadCredentials('the docker config has no object "auths"')
    logins: dict[str, Login] = {}
    for name, entry in entries.items():
        login = _login(name, entry) if isinstance(entry, dict) else None
        if login is not None:
            logins.setdefault(_host(name), login)
    return logins


def auth_file(host: str, login: Login | None) -> str:
    """For skopeo: that one only, so that a registry which sends elsewhere gets no other."""
    if login is None:
        return json.dumps({"auths": {}})
    entry = {"auth": login.auth} | ({"identitytoken": login.token} if login.token else {})
    return json.dumps({"auths": {host: entry}})


def _host(name: str) -> str:
    bare = name.partition("://")[2] or name
    return Registry.named(bare.partition("/")[0]).host


def _login(name: str, entry: Mapping[str, object]) -> Login | None:
    token = entry.get("identitytoken")
    auth, user, password = entry.get("auth"), entry.get("username"), entry.get("password")
    if not auth and isinstance(user, str) and isinstance(password, str):
        auth = base64.b64encode(f"{user}:{password}".encode()).decode()
    if not isinstance(auth, str) or not auth:
        return None
    try:
        is_pair = b":" in base64.b64decode(auth, validate=True)
    except (binascii.Error, ValueError):
        is_pair = False
    if not is_pair:
        raise BadCredentials(f"the docker config's auth of {name} is not base64 of user:password")
    return Login(auth, token if isinstance(token, str) else "")
