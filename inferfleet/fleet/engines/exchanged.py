"""What prefill and decode of a deployment exchange, and the revision that it makes.

A decode pod reads blocks of a KV cache that a prefill pod wrote. Both must agree on all that decides what is
in them: the program, the model, its number format, the size of a block, and over how many GPUs it is spread.
Pods of two formats never serve one request, so a deployment with prefill apart has a revision: six digits of
a hash of these facts, in the names of its workloads, its picker and its InferencePool.
"""

import hashlib
import json

from inferfleet.api.kinds.inference_cluster import Images
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.serving.prefill import Connector
from inferfleet.api.kinds.workers import Position
from inferfleet.fleet.engines.flags import flags_of, model_of
from inferfleet.fleet.engines.words import command_of
from inferfleet.fleet.roles import engine_of, image_of, is_disaggregated, serving_roles, workers_of
from inferfleet.profiles.engines import AnyMeaning, engine

_DIGITS = 6
_MEANINGS: tuple[AnyMeaning, ...] = ("dtype", "cacheDtype")


def connector(deployment: ModelDeployment) -> Connector:
    """Return how KV caches are handed on. Raises ValueError for a deployment without prefill."""
    prefill = deployment.spec.prefill
    if prefill is None:
        raise ValueError(f"{deployment.metadata.key} has no prefill of its own")
    return prefill.connector or ("SGLang" if deployment.spec.engine.type == "SGLang" else "NIXL")


def revision(deployment: ModelDeployment, images: Images) -> str:
    """Return the revision of what prefill and decode exchange on a cluster with these images; "" where both
    are one.
    """
    if not is_disaggregated(deployment):
        return ""
    facts = [connector(deployment), *(_facts(deployment, role, images) for role in serving_roles(deployment))]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:_DIGITS]


def _facts(deployment: ModelDeployment, role: str, images: Images) -> list[object]:
    workers, kind = workers_of(deployment, role), engine_of(deployment, role)
    table = engine(kind.type)
    facts: list[object] = [kind.type, workers.topology.tensor, workers.topology.pipeline]
    positions: tuple[Position, ...] = ("Entry", "Follower")
    for position in positions:
        template = workers.of(position)
        if template is None:
            continue
        command = command_of(template.spec)
        flags = flags_of(command, table)
        model = model_of(command, flags, table)
        facts += [template.engine.get("image") or image_of(deployment, role, images), model and model.text]
        facts += [flag.value if (flag := flags.last(meaning)) else None for meaning in _MEANINGS]
    return facts
