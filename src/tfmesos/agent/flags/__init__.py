"""The flags of `mesos-agent`, with the names and defaults of Apache Mesos 1.11 for what exists here.

general.py     the agent itself        containers.py  all containers
images.py      images of containers    docker.py      the Docker containerizer
gpus.py        GPUs                    agent.py       all as one
"""

from tfmesos.agent.flags.agent import AgentFlags
from tfmesos.agent.flags.general import DEFAULT_PORT

__all__ = ["DEFAULT_PORT", "AgentFlags"]
