"""linux/capabilities and linux/nnp: what of root's rights a container has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.isolators.views import config, refusal_of, view_of
from tfmesos.agent.capabilities import CapabilitySets
from tfmesos.agent.containerizer import ContainerConfig
from tfmesos.agent.isolators import Capabilities, View
from tfmesos.agent.isolators.capabilities import CapabilitiesIsolator, parse_capabilities
from tfmesos.agent.isolators.no_new_privileges import NoNewPrivilegesIsolator
from tfmesos.flags import FlagError
from tfmesos.wire import mesos_pb2

Caps = mesos_pb2.CapabilityInfo
ALL = frozenset({"CAP_CHOWN", "CAP_KILL", "CAP_NET_RAW"})


def capable(effective: Any = None, bounding: Any = None, old: Any = None) -> ContainerConfig:
    pairs = {"effective_capabilities": effective, "bounding_capabilities": bounding, "capability_info": old}
    return config(linux={name: Caps(capabilities=value) for name, value in pairs.items() if value is not None})


@pytest.mark.parametrize(
    ("given", "effective", "bounding"),
    [
        (capable([Caps.KILL]), {"CAP_KILL"}, {"CAP_KILL"}),
        (capable(old=[Caps.KILL]), {"CAP_KILL"}, {"CAP_KILL"}),
        (capable([Caps.KILL], [Caps.KILL, Caps.CHOWN]), {"CAP_KILL"}, {"CAP_KILL", "CAP_CHOWN"}),
        (capable(bounding=[Caps.CHOWN]), {"CAP_CHOWN"}, {"CAP_CHOWN"}),
        (capable([]), set(), set()),
        (capable([Caps.KILL, Caps.SYS_BOOT]), {"CAP_KILL"}, {"CAP_KILL"}),
    ],
)
async def test_a_container_has_the_capabilities_it_asks_for_that_the_agent_has(
    given: ContainerConfig, effective: set[str], bounding: set[str]
) -> None:
    isolator = CapabilitiesIsolator(None, None, ALL)

    assert await view_of(isolator, given) == View(
        capabilities=Capabilities(effective=frozenset(effective), bounding=frozenset(bounding))
    )
    assert isolator.wants_view(given)


async def test_without_a_word_the_flags_count_or_all_stays_as_it_is() -> None:
    of_flags = CapabilitiesIsolator(frozenset({"CAP_KILL"}), ALL, ALL)

    assert await view_of(of_flags, config()) == View(
        capabilities=Capabilities(effective=frozenset({"CAP_KILL"}), bounding=ALL)
    )
    assert await view_of(CapabilitiesIsolator(None, None, ALL), config()) is None
    assert not CapabilitiesIsolator(None, None, ALL).wants_view(config())


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (capable([Caps.CHOWN]), "Invalid capabilities: CAP_CHOWN not allowed by the bounding capabilities"),
        (capable(bounding=[Caps.CHOWN]), "Invalid capabilities: CAP_CHOWN not allowed by --bounding_capabilities"),
        (
            capable([Caps.KILL, Caps.CHOWN], [Caps.KILL]),
            "Invalid capabilities: CAP_CHOWN not allowed by the bounding capabilities",
        ),
        (capable([Caps.UNKNOWN]), "Invalid capabilities: one is unknown to this agent"),
    ],
)
async def test_more_than_the_bounding_set_is_refused(given: ContainerConfig, text: str) -> None:
    isolator = CapabilitiesIsolator(None, frozenset({"CAP_KILL"}), ALL)

    assert await refusal_of(isolator, given) == text


def test_own_capabilities_are_read_by_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    masks = {"CapInh": 0, "CapPrm": 1 << 5 | 1, "CapEff": 1, "CapBnd": 1 << 40 | 1 << 5, "CapAmb": 0}
    text = "".join(f"{name}:\t{mask:016x}\n" for name, mask in masks.items())
    (tmp_path / "self/status").write_text(f"Name:\tx\n{text}")

    assert CapabilitySets.read(tmp_path) == CapabilitySets(
        effective=frozenset({"CAP_CHOWN"}),
        permitted=frozenset({"CAP_CHOWN", "CAP_KILL"}),
        inheritable=frozenset(),
        bounding=frozenset({"CAP_KILL", "CAP_CHECKPOINT_RESTORE"}),
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[", "not a JSON object"),
        ("[]", 'expecting a JSON object {"capabilities": [...]}'),
        ('{"capabilities":["CAP_KILL"]}', "'CAP_KILL' is no capability; they are named as NET_RAW"),
        ('{"capabilities":["UNKNOWN"]}', "'UNKNOWN' is no capability"),
    ],
)
def test_capabilities_of_flags_are_checked(text: str, fault: str) -> None:
    with pytest.raises(FlagError) as refused:
        parse_capabilities(text)

    assert str(refused.value).startswith(fault)
    assert parse_capabilities('{"capabilities":["KILL"]}') == {"CAP_KILL"}


async def test_no_program_gets_more_rights() -> None:
    assert await view_of(NoNewPrivilegesIsolator(), config()) == View(no_new_privileges=True)
    assert NoNewPrivilegesIsolator().wants_view(config())
