"""The v1 executor API: how executors and this agent talk (Mesos 1.11).

api.py          the calls, checked in Mesos' order
validation.py   what a call must have
streams.py      the events
"""
