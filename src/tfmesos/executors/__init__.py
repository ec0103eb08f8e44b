"""Programs that run on an agent for it, built on the executor client: the default executor."""
