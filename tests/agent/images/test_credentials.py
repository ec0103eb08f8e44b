"""Who to be for which registry."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.images.credentials import Login, auth_file, parse_docker_config
from tfmesos.agent.images.errors import BadCredentials
from tfmesos.flags import flag_texts, load_flags

_AUTH = base64.b64encode(b"me:pass:word").decode()


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("h.io:5000", "h.io:5000"),
        ("http://h.io:5000", "h.io:5000"),
        ("https://h.io:5000/v1/", "h.io:5000"),
        ("h.io/team/project", "h.io"),
        ("https://index.docker.io/v1/", "docker.io"),
        ("registry-1.docker.io", "docker.io"),
        ("docker.io", "docker.io"),
        ("https://images/v1/", "images:443"),
    ],
)
def test_registries_are_told_apart_by_host_and_port(name: str, host: str) -> None:
    assert parse_docker_config(json.dumps({"auths": {name: {"auth": _AUTH}}})) == {host: Login(_AUTH)}


@pytest.mark.parametrize(
    ("config", "hosts"),
    [
        ({"auths": {}}, []),
        ({"auths": {"h": {}}, "credsStore": "pass"}, []),
        ({"h.io": {"auth": _AUTH, "email": "x"}}, ["h.io"]),
        ({"auths": {"h.io": {"username": "me", "password": "pass:word"}}}, ["h.io"]),
        ({}, []),
    ],
)
def test_logins_are_where_docker_has_them(config: dict[str, Any], hosts: list[str]) -> None:
    assert parse_docker_config(json.dumps(config)) == {host: Login(_AUTH) for host in hosts}


def test_only_the_login_of_one_registry_is_handed_on() -> None:
    assert json.loads(auth_file("h:1", Login(_AUTH, "token"))) == {
        "auths": {"h:1": {"auth": _AUTH, "identitytoken": "token"}}
    }
    assert json.loads(auth_file("h:1", None)) == {"auths": {}}


@pytest.mark.parametrize(
    "config",
    [
        "nonsense",
        "[" * 100_000,
        '{"\\ud800":{"auth":"!"}}',
        "[]",
        '{"auths":[]}',
        '{"auths":{"h":{"auth":"!!pass"}}}',
        '{"auths":{"h":{"auth":"cGFzcw=="}}}',
    ],
)
def test_what_cannot_be_read_is_refused_without_telling_it(config: str) -> None:
    with pytest.raises(BadCredentials) as raised:
        parse_docker_config(config)
    assert "!!pass" not in str(raised.value)
    assert "cGFzcw" not in str(raised.value)


def test_secrets_are_hidden_in_texts_and_never_shown() -> None:
    login = Login(_AUTH, "token-4711")
    assert login.hidden(f"no {_AUTH}, no pass:word, no token-4711") == "no ***, no ***, no ***"
    assert "pass" not in repr(login)
    assert _AUTH not in repr(login)


def test_the_agents_docker_config_is_on_no_page() -> None:
    flags = load_flags(AgentFlags, ["--master=m", "--work_dir=/w", '--docker_config={"auths":{}}'], None)
    assert flags.docker_config == '{"auths":{}}'
    assert "docker_config" not in flag_texts(flags)
