"""Loopback addresses of one process: tests of one file run in several at the same time."""

import os


def own_address(number: int) -> str:
    """Address 1 to 15 of this process, below the blocks that clusters of the sandbox get."""
    process = os.getpid() % 4096
    return f"127.2.{process >> 4}.{((process & 15) << 4) + number}"
