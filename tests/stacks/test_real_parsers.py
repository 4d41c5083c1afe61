"""Every command line that inferfleet writes is taken by the real parsers of vLLM and SGLang."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from real_parsers import refusals, with_real_parsers

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.workers import Position
from inferfleet.documents.loading.stack import load_stack
from inferfleet.fleet.roles import engine_of, roles_of, workers_of
from inferfleet.serving.engines.command_line import WorkerPod, command_line

ROOT = Path(__file__).parent.parent.parent
# What the controller of LeaderWorkerSets puts in for them in the second pod of a worker.
GROUP = {"$(LWS_LEADER_ADDRESS)": "10.0.0.1", "$(LWS_GROUP_SIZE)": "2", "$(LWS_WORKER_INDEX)": "1"}
# GPUs of a pod and pods of a worker beside those of the stacks, by type.
SHAPES: dict[str, list[dict[str, Any]]] = {
    "vLLM": [
        {"tensor": 1},
        {"tensor": 16},
        {"tensor": 8, "pipeline": 2},
        {"tensor": 1, "data": 4, "dataLocal": 4},
        {"tensor": 1, "data": 2},
        {"tensor": 1, "data": 4, "dataLocal": 2, "expert": True},
        {"tensor": 1, "data": 32, "dataLocal": 16},
        {"tensor": 8, "pipeline": 2, "data": 2},
    ],
    "SGLang": [
        {"tensor": 1},
        {"tensor": 16, "expert": True},
        {"tensor": 8, "pipeline": 2},
        {"tensor": 8, "attention": 8},
        {"tensor": 2, "data": 2, "dataLocal": 2},
    ],
}


def _shapes() -> Iterator[ModelDeployment]:
    for kind, topologies in SHAPES.items():
        for topology in topologies:
            for balance in _balances(topology):
                for prefill in (None, {"workers": {"topology": {"tensor": topology["tensor"]}}}):
                    yield ModelDeployment.model_validate(
                        {
                            "metadata": {"name": "m", "namespace": "ml"},
                            "spec": {
                                "replicas": 1,
                                "engine": {
                                    "type": kind,
                                    "model": {"repository": "org/model", "revision": "abc"},
                                    "servedNames": ["a", "b"],
                                },
                                "workers": {"topology": topology, "balance": balance},
                                **({"prefill": prefill} if prefill else {}),
                            },
                        }
                    )


def _balances(topology: dict[str, Any]) -> tuple[str | None, ...]:
    if topology.get("data", 1) == 1:
        return (None,)
    local = topology.get("dataLocal", 1)
    apart = topology.get("pipeline", 1) == 1 and topology["data"] > local
    return (None, "Engine", *(("Port",) if 2 <= local <= 8 else ()), *(("Pod",) if apart else ()))


def _written() -> dict[str, list[str]]:
    """The written words behind the program, each once, with the type first, by where they are from."""
    stacks = ("local", "frontier", "disaggregated", "gke-demo")
    documents = [load_stack(ROOT, stack, base=ROOT)[0] for stack in stacks]
    deployments = [one for loaded in documents for one in loaded.deployments.values()]
    found: dict[str, list[str]] = {}
    positions: tuple[Position, ...] = ("Entry", "Follower")
    for deployment in [*deployments, *_shapes()]:
        for role in roles_of(deployment):
            topology = workers_of(deployment, role).topology
            # A group of 16 takes two nodes of eight.
            pods = max(topology.pods_per_worker, topology.tensor // 8 if topology.tensor > 8 else 1)
            for position in positions[: 2 if pods > 1 else 1]:
                line = command_line(WorkerPod(deployment, role, position, pods))
                if line is None:
                    continue
                words = [_put_in(word) for word in line.args]
                found.setdefault(" ".join(words), [engine_of(deployment, role).type, *words])
    return found


def _put_in(word: str) -> str:
    for name, value in GROUP.items():
        word = word.replace(name, value)
    return word


def test_there_are_command_lines_of_both_types_to_ask_about() -> None:
    kinds = [words[0] for words in _written().values()]
    assert kinds.count("vLLM") > 40
    assert kinds.count("SGLang") > 15


@with_real_parsers
def test_real_parsers_take_every_written_command_line() -> None:
    written = _written()
    answers = zip(written, refusals(list(written.values())), strict=True)
    refused = {line: why for line, why in answers if why}
    print(f"{len(written)} written command lines, {len(refused)} refused")
    assert refused == {}
