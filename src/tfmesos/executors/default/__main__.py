"""The default executor as a program: an agent starts it for task groups; all it needs is in its environment."""

import asyncio
import logging
import os
import sys

from tfmesos.client import ClientError, ExecutorEnvironment
from tfmesos.executors.default.app import run


def main() -> int:
    """Run the executor; its exit status."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s")
    try:
        environment = ExecutorEnvironment.from_environ(os.environ)
    except ClientError as error:
        print(f"tfmesos default executor: {error}", file=sys.stderr)
        return error.exit_status
    return asyncio.run(run(environment))


if __name__ == "__main__":
    sys.exit(main())
