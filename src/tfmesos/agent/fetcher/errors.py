"""FetchFailed: the URIs of one container were not all fetched."""

from tfmesos.agent.errors import AgentError


class FetchFailed(AgentError):
    """Not all URIs were fetched; the text begins as Mesos' does. The sandbox's stderr tells more."""

    def __init__(self, container_id: str, reason: str) -> None:
        super().__init__(f"Failed to fetch all URIs for container '{container_id}': {reason}")
