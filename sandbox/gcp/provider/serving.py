"""Serves the provider to the engine that started the process."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import grpc
from pulumi.runtime.proto.provider_pb2_grpc import add_ResourceProviderServicer_to_server

from sandbox.gcp.operations import Cloud
from sandbox.gcp.provider.calls import Provider
from sandbox.places import StackPlaces

# An operation keeps its thread until its cluster answers, and others must not wait for that.
_THREADS = 64


def serve(stack_folder: str) -> None:
    """Serve until the engine ends the process, or has ended itself."""
    folder = Path(stack_folder)
    places = StackPlaces(folder.parent.parent, folder.name)

    @cache
    def cloud() -> Cloud:
        # This is half of what there is to import, and a preview needs none of it.
        from sandbox.gcp.opening import open_cloud

        return open_cloud(places)

    unlimited = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    server = grpc.server(ThreadPoolExecutor(max_workers=_THREADS), options=unlimited)
    add_ResourceProviderServicer_to_server(Provider(places, cloud), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    # An engine that is killed does not end its plugins. A signal at the parent's death would come too early:
    # it is sent when the thread ends that started this process, and Go ends its threads at any time.
    engine = os.getppid()
    while server.wait_for_termination(timeout=1) and os.getppid() == engine:
        pass
