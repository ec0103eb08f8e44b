"""The default executor: runs groups of tasks as containers nested in its own. `python -m tfmesos.executors.default`"""
