"""What people and tools are told over HTTP (Mesos 1.11).

pages.py            all paths of the agent
calls.py            POST /api/v1
answers.py          its GET_* calls
state.py            /state
container_pages.py  /containers, /monitor/statistics
files.py            which sandbox a virtual path means
metrics.py          the numbers of /metrics
"""
