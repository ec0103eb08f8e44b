"""Being an agent of a master: who this one is, how it registers and stays so, what the master orders.

registration.py         where the agent stands with its master (pure)
registrar.py            the shell of that
member.py               what a registration means for the rest of the agent
identity.py             address, names, capabilities
resources_detection.py  what the machine offers
mailbox.py              messages to calls, and back
orders.py               run, kill, shut down, acknowledge
"""
