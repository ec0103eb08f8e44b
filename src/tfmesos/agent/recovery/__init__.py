"""The next agent goes on where this one stops.

recorder.py         what the core says becomes facts of the checkpoint
outbox.py           what leaves when those are on disk
restart.py          what a starting agent makes of them
reconfiguration.py  whether it is still the same agent
"""
