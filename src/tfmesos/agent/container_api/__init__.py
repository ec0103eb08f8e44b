"""The calls of the agent's v1 API that are about containers (Mesos 1.11: src/slave/http.cpp).

api.py          which call does what
validation.py   what is refused with 400
media.py        the heads of streaming requests and answers
output.py       LAUNCH_NESTED_CONTAINER_SESSION, ATTACH_CONTAINER_OUTPUT: an answer that lasts
input.py        ATTACH_CONTAINER_INPUT: a request that lasts
"""

from tfmesos.agent.container_api.api import ContainerApi

__all__ = ["ContainerApi"]
