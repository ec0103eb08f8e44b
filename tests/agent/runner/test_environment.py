"""What executors find in their environment beyond what test_executor_api.py sees."""

from __future__ import annotations

from dataclasses import replace

from tests.agent.in_test_master import framework
from tfmesos.agent import AgentFlags
from tfmesos.agent.runner.environment import Environments, ExecutorPlace

PLACE = ExecutorPlace(agent_id="S0", agent_pid="slave(1)@10.0.0.1:5051", executor_id="ex", directory="/sandbox")


def environment(*, checkpoint: bool = False, domain_socket: str | None = None, **flags: object) -> dict[str, str]:
    info = framework()
    info.checkpoint = checkpoint
    made = AgentFlags(master="m", work_dir="w", **flags)  # type: ignore[arg-type]
    return Environments(made, domain_socket).of_executor(info, PLACE)


def test_executors_of_checkpointing_frameworks_know_how_long_to_wait() -> None:
    found = environment(checkpoint=True, recovery_timeout=90.0)

    assert (found["MESOS_CHECKPOINT"], found["MESOS_RECOVERY_TIMEOUT"]) == ("1", "90secs")
    assert found["MESOS_SUBSCRIPTION_BACKOFF_MAX"] == "2secs"
    assert "MESOS_RECOVERY_TIMEOUT" not in environment()


def test_an_agent_behind_a_socket_says_where_it_is() -> None:
    assert environment(domain_socket="/run/agent.sock")["MESOS_DOMAIN_SOCKET"] == "/run/agent.sock"
    assert "MESOS_DOMAIN_SOCKET" not in environment()


def test_the_operators_variables_cannot_hide_the_agents_own() -> None:
    found = environment(executor_environment_variables={"MESOS_SLAVE_ID": "another", "PROXY": "p"})

    assert (found["MESOS_SLAVE_ID"], found["PROXY"]) == ("S0", "p")


def test_an_executor_knows_the_grace_that_it_asked_for() -> None:
    asked = replace(PLACE, shutdown_grace_s=7.5)
    flags = AgentFlags(master="m", work_dir="w")

    found = Environments(flags, None).of_executor(framework(), asked)

    assert found["MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD"] == "7500ms"
