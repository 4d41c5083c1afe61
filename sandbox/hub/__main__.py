"""Serves the stand-in hub until it is killed: `python -m sandbox.hub <folder> <address> <port>`."""

import sys
from pathlib import Path

from aiohttp import web

from sandbox.hub.server import Hub

if __name__ == "__main__":
    root, address, port = sys.argv[1:4]
    web.run_app(Hub(Path(root)).app(), host=address, port=int(port), print=None)
