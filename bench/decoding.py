"""How long it takes to decode an event of 100 offers, against the goal and against the general JSON converter."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from google.protobuf import json_format
from tables import Row, print_table

from tfmesos.resources import Resources
from tfmesos.wire import decode, mesos_pb2, scheduler_pb2

OFFERS = 100
ROUNDS = 200
WANTED_S = 0.0001


def build_event() -> scheduler_pb2.Event:
    event = scheduler_pb2.Event(type=scheduler_pb2.Event.OFFERS)
    resources = Resources.parse("cpus:16;mem:65536;disk:500000;gpus:4;ports:[31000-32000]").to_proto()
    for number in range(OFFERS):
        offer = event.offers.offers.add(hostname=f"agent-{number}.example.org")
        offer.id.value = f"6a1c9f8e-0f3a-4c52-9f57-1d3c8b6c2d10-O{number}"
        offer.framework_id.value = "6a1c9f8e-0f3a-4c52-9f57-1d3c8b6c2d10-0000"
        offer.agent_id.value = f"6a1c9f8e-0f3a-4c52-9f57-1d3c8b6c2d10-S{number}"
        offer.resources.extend(resources)
        offer.attributes.add(name="rack", type=mesos_pb2.Value.TEXT, text=mesos_pb2.Value.Text(value="r1"))
    return event


def median_s(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        action()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main() -> None:
    event = build_event()
    binary, text = event.SerializeToString(), json_format.MessageToJson(event)
    ours = median_s(lambda: decode(scheduler_pb2.Event, binary))
    general = median_s(lambda: json_format.Parse(text, scheduler_pb2.Event()), rounds=10)
    print_table(
        [
            Row(
                measure=f"decoding {OFFERS} offers",
                ours=ours * 1000,
                reference=value * 1000,
                reference_name=name,
                unit="ms",
                goal=1.0,
            )
            for name, value in (("the goal", WANTED_S), ("JSON, protobuf's own converter", general))
        ]
    )


if __name__ == "__main__":
    main()
