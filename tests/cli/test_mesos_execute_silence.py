"""What `mesos-execute` says when nothing comes."""

from dataclasses import dataclass
from typing import cast

import pytest

from tfmesos.cli.execute import app
from tfmesos.cli.execute.core import ExecuteCore
from tfmesos.cli.execute.flags import ExecuteFlags
from tfmesos.cli.execute.request import build_request
from tfmesos.client import SchedulerClient
from tfmesos.flags import load_flags


@dataclass
class Subscription:
    """All of a client that counts here."""

    is_subscribed: bool
    trouble: str = "connection refused"


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_MASTER_PATIENCE_S", 0.0)
    monkeypatch.setattr(app, "_OFFER_PATIENCE_S", 0.0)


async def explain(*words: str, is_subscribed: bool) -> None:
    flags = load_flags(ExecuteFlags, ["--master=m:5050", "--name=t", "--command=true", *words], None)
    request = build_request(flags)
    client = cast(SchedulerClient, Subscription(is_subscribed))
    await app._explain_silence(ExecuteCore(request), client, request, "m:5050")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ((), "; agents with GPUs are shown only with --framework_capabilities=GPU_RESOURCES"),
        (("--framework_capabilities=GPU_RESOURCES",), ""),
    ],
)
async def test_without_any_offer_it_says_so_and_names_the_gpu_filter(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], hint: str
) -> None:
    await explain(*words, is_subscribed=True)

    assert capsys.readouterr().err == (
        f"Still waiting: the master has made no offer to role '*'. No agent is registered, or all is in use{hint}.\n"
    )


async def test_without_a_master_it_says_where_it_looks(capsys: pytest.CaptureFixture[str]) -> None:
    await explain(is_subscribed=False)

    text = "Still waiting for the master at m:5050: connection refused.\n"
    assert capsys.readouterr().err == text
