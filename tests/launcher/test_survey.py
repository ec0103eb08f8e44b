"""Why a job waits: the exact texts."""

from dataclasses import replace

import pytest

from tests.launcher.builders import total, wishes
from tfmesos.launcher.placement import Wish
from tfmesos.launcher.survey import AgentTotal, Shortage, Survey, build_survey, explain


def why(wanted: list[Wish], *agents: AgentTotal, offered: tuple[str, ...] = ()) -> Shortage:
    return explain(wanted, Survey(agents=agents, offered=offered, role="ml"))


def test_more_cards_than_any_cluster_of_these_agents_has() -> None:
    agents = [total(f"cpu{n}") for n in range(4)]
    agents += [total(f"gpu{n}", gpus=8, mem=32) for n in range(6)]
    agents += [total(f"off{n}", active=False) for n in range(2)]

    shortage = why(wishes(gpus=9), *agents)

    assert shortage.text == (
        "worker:0 needs 9 gpus, largest possible 8 (12 agents: 6 too few gpus, 4 no gpus, 2 not active)"
    )
    assert shortage.is_final


@pytest.mark.parametrize(
    ("wanted", "agent", "text"),
    [
        (
            wishes(cpus=5),
            total("a"),
            "worker:0 needs 5 cpus, largest possible 4 (1 agent: 1 too few cpus)",
        ),
        (
            wishes(mem=5000.5),
            total("a"),
            "worker:0 needs 5000.5 mem, largest possible 4096 (1 agent: 1 too little mem)",
        ),
        (
            wishes(),
            total("a", ports=0),
            "worker:0 needs a port, and no agent offers ports (1 agent: 1 no ports)",
        ),
        (
            wishes(gpus=1),
            total("a"),
            "needs 1 gpus, largest possible 0: no agent offers gpus (1 agent seen, 0 with gpus)",
        ),
        (
            wishes(count=5),
            total("a"),
            "the job needs 5 cpus, largest possible 4 (1 agent)",
        ),
        (
            wishes(count=3, gpus=1),
            total("a", gpus=2),
            "the job needs 3 gpus, largest possible 2 (1 agent)",
        ),
        (
            wishes(count=3),
            total("a", ports=2),
            "the job needs 3 ports, largest possible 2 (1 agent)",
        ),
        (
            wishes(),
            total("a", cpus=0, reserved_elsewhere=True),
            "worker:0 needs 1 cpus, largest possible 0 (1 agent: 1 reserved to roles other than ml)",
        ),
    ],
)
def test_what_can_never_fit_is_said_with_numbers(wanted: list[Wish], agent: AgentTotal, text: str) -> None:
    shortage = why(wanted, agent, offered=("a",))

    assert shortage == Shortage(text=text, is_final=True)


def test_no_single_agent_has_all_of_it() -> None:
    shortage = why(wishes(cpus=4, mem=4096), total("a", mem=100), total("b", cpus=1))

    assert shortage.text == (
        "worker:0 needs 4 cpus, 4096 mem on one agent, and no agent has all of it "
        "(2 agents: 1 too little mem, 1 too few cpus)"
    )


def test_a_job_from_which_every_agent_is_hidden_is_told() -> None:
    shortage = why(wishes(), total("a", gpus=8), total("b", gpus=1))

    assert shortage == Shortage(
        text="the master hides 2 agents, all there are, from jobs without gpus, as they have gpus "
        "(--filter_gpu_resources)",
        is_final=True,
    )


def test_agents_that_the_gpu_filter_hides_are_named() -> None:
    shortage = why(wishes(cpus=9), total("a", cpus=64, gpus=8), total("b"))

    assert shortage.text == (
        "worker:0 needs 9 cpus, largest possible 4 "
        "(2 agents: 1 with gpus, which the master's GPU filter hides from jobs without gpus, 1 too few cpus)"
    )


def test_an_agent_is_hidden_although_others_use_a_part_of_it() -> None:
    used = replace(total("a", gpus=8), free={"cpus": 3000, "mem": 64000, "gpus": 0, "ports": 1})

    assert "the master hides 1 agent" in why(wishes(), used).text
    assert "hides" not in why(wishes(), replace(used, free=dict.fromkeys(used.free, 0))).text


def test_an_agent_with_cards_that_offered_is_not_hidden() -> None:
    assert "hides" not in why(wishes(cpus=5), total("a", gpus=8), offered=("a",)).text


def test_a_busy_cluster_is_waited_for() -> None:
    shortage = why(wishes(), total("a", busy=True))

    assert shortage == Shortage(
        text="the job needs 1 cpus, 0 are free now (1 agent: 1 in use by others)", is_final=False
    )


def test_no_agent_at_all() -> None:
    assert why(wishes()) == Shortage(text="no agent is registered with the master", is_final=False)


def test_the_masters_agents_are_read() -> None:
    slaves = {
        "slaves": [
            {
                "id": "S0",
                "hostname": "h",
                "active": True,
                "resources": {"cpus": 8, "gpus": 2, "mem": 100, "ports": "[31000-31009]"},
                "used_resources": {"cpus": 1},
                "offered_resources": {"cpus": 2},
                "reserved_resources": {"ml": {"cpus": 2}, "web": {"cpus": 3}},
                "unreserved_resources": {"cpus": 3, "gpus": 2, "mem": 100, "ports": "[31000-31009]"},
            },
            {"what": "is this"},
        ]
    }

    survey = build_survey(slaves, "ml", {"S0"})

    (agent,) = survey.agents
    assert agent.usable == {"cpus": 5000, "gpus": 2000, "mem": 100000, "ports": 10}
    assert agent.free["cpus"] == 2000
    assert agent.has_gpus
    assert agent.reserved_elsewhere


def test_what_is_no_list_of_agents_is_an_empty_survey() -> None:
    assert not build_survey({"slaves": None}, "*", ()).agents
