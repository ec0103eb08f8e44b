"""Messages whose names inside another message mislead a generator."""

from tfmesos.wire import mesos_pb2, scheduler_pb2


def test_a_request_of_resources_is_read_as_mesos_writes_it() -> None:
    call = scheduler_pb2.Call(type=scheduler_pb2.Call.REQUEST)
    request = call.request.requests.add()
    request.agent_id.value = "S0"
    resource = request.resources.add(name="cpus", type=mesos_pb2.Value.SCALAR)
    resource.scalar.value = 1
    assert b"\x0a\x04\x0a\x02S0" in call.SerializeToString()
    assert scheduler_pb2.Call.FromString(call.SerializeToString()) == call
