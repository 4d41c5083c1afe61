"""Runs the gateway controller of one cluster: `python -m sandbox.gateway <stack folder> <cluster>`."""

import asyncio
import sys

from sandbox.cluster import podnet
from sandbox.cluster.companions import cluster_of
from sandbox.gateway.server import serve

if __name__ == "__main__":
    cluster = cluster_of(sys.argv[1], sys.argv[2])
    asyncio.run(serve(cluster, podnet.network(cluster.folder).of_gateways))
