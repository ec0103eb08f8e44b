"""`mesos-agent --doctor`: what of all that an agent may need is on this machine, what is not, and how to get it.

finding.py      one thing that was looked for, and the report of all (pure)
flags.py        an agent's flags, none of which is required
wants.py        what these flags need (pure)
isolation.py    user, cgroups, isolators
containers.py   OCI runtime, programs of images, Docker engine
cards.py        cards on the bus, and who drives them
driver.py       what NVIDIA's driver tells: NVML, the cards, their nodes
places.py       directories, port, master
directories.py  whether one could be used

Nothing is changed by it: no module is loaded, no file left, no task run. (For root the OCI runtime starts `true`.)
"""

from tfmesos.agent.doctor.examination import examine
from tfmesos.agent.doctor.finding import Finding, Report
from tfmesos.agent.doctor.flags import DoctorFlags

__all__ = ["DoctorFlags", "Finding", "Report", "examine"]
