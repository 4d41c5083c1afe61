"""The workers that a plan counts on a pool, listed one by one, as `packings.py` packs them."""

from packings import Size, Worker

from inferfleet.fleet.demands import Demand
from inferfleet.fleet.shapes import Pod


def workers_of(needs: Demand, replicas: int) -> list[Worker]:
    """The workers of a role of so many replicas, with those that are kept room for."""
    pods = _size(needs.pod), *[_size(needs.follower or needs.pod)] * (needs.gang - 1)
    return [pods] * (replicas * needs.workers * needs.sets + (1 if needs.spare else 0))


def clipped(worker: Worker, empty: Size) -> Worker:
    """The pods of a worker, those that outgrew the nodes as whole nodes."""
    return tuple(Size(*map(min, pod, empty)) for pod in worker)


def _size(pod: Pod) -> Size:
    return Size(pod.gpus, pod.cpu, pod.memory)
