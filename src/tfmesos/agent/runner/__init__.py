"""Carries out what the core wants.

runner.py          an action each, and the events
container_runs.py  executors' containers from launch to end
environment.py     what they find in their environment
refusals.py        what cannot run here
task_watches.py    checks of command tasks
reporter.py        status updates on their way to the master
"""
