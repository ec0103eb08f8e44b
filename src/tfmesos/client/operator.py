"""The client of a master's operator API and endpoints, as far as a launcher needs it."""

import json
from typing import Any

from tfmesos.client._kept import API, PROTOBUF_HEADERS, KeptConnection, check_answer
from tfmesos.transport import Address
from tfmesos.wire import master_pb2


class MasterClient(KeptConnection):
    """A master's endpoints over one kept connection."""

    def __init__(self, address: Address, timeout_s: float = 10.0) -> None:
        super().__init__(address, timeout_s)

    async def get_json(self, path: str) -> Any:
        """What a GET of an endpoint such as `/state` says."""
        answer = await self.request("GET", path)
        check_answer(f"GET {path}", answer)
        return json.loads(answer.body)

    async def teardown(self, framework_id: str) -> None:
        """End a framework (operator call TEARDOWN)."""
        call = master_pb2.Call(type=master_pb2.Call.TEARDOWN)
        call.teardown.framework_id.value = framework_id
        check_answer("TEARDOWN", await self.request("POST", API, PROTOBUF_HEADERS, call.SerializeToString()))
