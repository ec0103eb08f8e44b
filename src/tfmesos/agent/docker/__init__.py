"""The Docker containerizer: containers that the Docker engine makes, by its client and its socket.

runtime.py     what the containerizer calls      container.py   one container, to its certain end
options.py     what a container is to be (pure)  arguments.py   the command line of `docker run` (pure)
client.py      commands of the client            inspection.py  what `docker inspect` says (pure)
images.py      pulls                             dns.py         --default_container_dns (pure)
leftovers.py   of an agent before                removals.py    of what has ended, after a while
looks.py       DEBUG containers                  sandbox.py     sandboxes with a colon
backoff.py     waiting longer each time          errors.py      what goes wrong
"""

from tfmesos.agent.docker.dns import parse_default_dns
from tfmesos.agent.docker.runtime import DockerRuntime

__all__ = ["DockerRuntime", "parse_default_dns"]
