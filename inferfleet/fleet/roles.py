"""What a deployment's document says of each of its roles, and what follows from that alone.

A *role* is a part of a replica: `decode` serves requests and is the only one of a unified deployment,
`prefill` reads prompts for it where the document has that block, and teams may add roles of their own. This
module answers which engine, image, template and workers a role has and where the document says so; on which
ports its pods listen; who shares requests among the copies of a model in one worker; and the *revision* of
deployments whose prefill and decode are apart. Everything follows from declared fields. What nodes offer is
in `shapes`, and what a role needs of them in `demands`.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from inferfleet.documents.documents import Documents, cache_key
from inferfleet.documents.kinds.inference_cluster import Images, Serving
from inferfleet.documents.kinds.model_cache import ModelCache
from inferfleet.documents.kinds.model_deployment import (
    CachedModel,
    Engine,
    ModelDeployment,
    Prefill,
    Role,
)
from inferfleet.documents.kinds.workers import (
    MOST_PORTS,
    POSITIONS,
    Balance,
    NodeSelector,
    PodTemplate,
    Position,
    Workers,
)
from inferfleet.fleet.node_conditions import NodeConditions, conditions_of
from inferfleet.fleet.shapes import Shape
from inferfleet.tables.engines import CONNECTORS, Connector, EngineType, engine
from inferfleet.tables.pickers import ENGINE_PORT, Profile, picker

# The role that serves the requests of a deployment, and the only one where it does not split its work.
DECODE = "decode"
# The role that reads prompts for DECODE, where the document has `prefill`.
PREFILL = "prefill"


def roles_of(deployment: ModelDeployment) -> tuple[str, ...]:
    """Return the roles of each replica: the ones that serve first, then the others by name."""
    return (*serving_roles(deployment), *sorted(deployment.spec.roles))


def serving_roles(deployment: ModelDeployment) -> tuple[str, ...]:
    """Return the roles whose pods a picker chooses from: DECODE, and PREFILL where that is apart."""
    return (DECODE, PREFILL) if deployment.spec.prefill else (DECODE,)


def is_disaggregated(deployment: ModelDeployment) -> bool:
    """Return whether prefill and decode are apart."""
    return deployment.spec.prefill is not None


def hands_over(deployment: ModelDeployment, role: str) -> bool:
    """Return whether pods of the role hand KV caches on, or are handed them."""
    return is_disaggregated(deployment) and role in serving_roles(deployment)


def picker_of(deployment: ModelDeployment, serving: Serving) -> Profile:
    """Return the row of the table for a deployment's picker and routing proxies on a cluster."""
    profile = deployment.spec.profile or serving.profile
    return picker(profile, disaggregated=is_disaggregated(deployment))


def workers_of(deployment: ModelDeployment, role: str) -> Workers:
    """Return the workers of a role. Raises KeyError for a role that the document does not have."""
    return (role_block(deployment, role) or deployment.spec).workers


def selector_of(deployment: ModelDeployment, role: str) -> NodeSelector | None:
    """Return the condition on the devices of a role's pool: its own, or that of the deployment."""
    block = role_block(deployment, role)
    selector = block.node_selector if block else None
    return selector or deployment.spec.node_selector


def role_block(deployment: ModelDeployment, role: str) -> Role | Prefill | None:
    """Return the block of the document that a role other than DECODE has. Raises KeyError without one."""
    if role == DECODE:
        return None
    return deployment.spec.prefill if role == PREFILL else deployment.spec.roles[role]


# Engines, their arguments and images.


def engine_of(deployment: ModelDeployment, role: str) -> Engine:
    """Return the engine of a role: its own, or that of the deployment. Prefill and decode have the same."""
    block = role_block(deployment, role)
    engine = block.engine if isinstance(block, Role) else None
    return engine or deployment.spec.engine


def cache_of(documents: Documents, deployment: str, role: str) -> ModelCache | None:
    """Return the cache from which engines of a role load their model, None without one."""
    model = engine_of(documents.deployments[deployment], role).model
    return documents.caches[cache_key(deployment, model.cache)] if model and model.cache else None


def caches_of(documents: Documents, deployment: str) -> tuple[ModelCache, ...]:
    """Return the caches from which pods of a deployment load, each once."""
    document = documents.deployments[deployment]
    every = [cache_of(documents, deployment, role) for role in roles_of(document)]
    every += [
        documents.caches[cache_key(deployment, adapter.source.cache)]
        for adapter in document.spec.engine.adapters
        if adapter.source.cache
    ]
    return tuple({cache.metadata.key: cache for cache in every if cache}.values())


def startup_of(engine_: Engine) -> int:
    """Return the seconds that a pod may take to load its model: the document's, or its type's default."""
    return engine_.startup or engine(engine_.type).startup


def served_names(deployment: ModelDeployment) -> tuple[str, ...]:
    """Return the names by which requests may call the deployment's model, as far as it declares them."""
    declared = deployment.spec.engine
    if declared.served_names or declared.model is None:
        return declared.served_names
    # trtllm-serve names a model in a folder after that.
    of_folder = declared.type == "TensorRT-LLM" and isinstance(declared.model, CachedModel)
    return (declared.model.loaded_from.rpartition("/")[2] if of_folder else declared.model.name,)


def connector(deployment: ModelDeployment) -> Connector:
    """Return how KV caches are handed on. Raises ValueError for a deployment without prefill."""
    prefill = deployment.spec.prefill
    if prefill is None:
        raise ValueError(f"{deployment.metadata.key} has no prefill of its own")
    return prefill.connector or CONNECTORS.get(deployment.spec.engine.type, ("NIXL",))[0]


def args_of(deployment: ModelDeployment, role: str) -> tuple[str, ...]:
    """Return the arguments that are appended to the written command line of a role's engines."""
    prefill = deployment.spec.prefill
    if role == PREFILL and prefill is not None and prefill.args is not None:
        return prefill.args
    return engine_of(deployment, role).args


def version_of(deployment: ModelDeployment, role: str) -> str | None:
    """Return the version of a role's engine: the declared one, else the usual one of its type, or None."""
    engine_ = engine_of(deployment, role)
    return engine_.version or engine(engine_.type).version


def running_image(deployment: ModelDeployment, role: str, images: Images) -> str | None:
    """Return the image of a role's engine on a cluster with these images: the template's own comes first."""
    image: str | None = workers_of(deployment, role).entry_template.engine.get("image")
    return image or image_of(deployment, role, images)


def image_of(deployment: ModelDeployment, role: str, images: Images, *, nvidia: bool = True) -> str | None:
    """Return the image of a role's engine where its template names none: the declared one, else that of a
    cluster with these images, else, on `nvidia`'s GPUs, the usual one of its type in its version; or None.
    """
    engine_ = engine_of(deployment, role)
    if image_name := declared_image(deployment, role) or images.engine.get(engine_.type):
        return image_name
    return usual_image(engine_.type, version_of(deployment, role)) if nvidia else None


def usual_image(kind: EngineType, version: str | None) -> str | None:
    """Return the usual image of a type of engine in a version, None where there is none."""
    repository = engine(kind).image
    return f"{repository}:v{_whole(version)}" if repository and version else None


def _whole(version: str) -> str:
    """Return a version with three numbers, as tags of images have them: `0.33` is `0.33.0`."""
    numbers = version.split(".")
    return ".".join(numbers + ["0"] * (3 - len(numbers)))


def declared_image(deployment: ModelDeployment, role: str) -> str | None:
    """Return the image that the document declares for a role's engine outside of its template, or None."""
    prefill = deployment.spec.prefill
    if role == PREFILL and prefill is not None and prefill.image:
        return prefill.image
    return engine_of(deployment, role).image


def lacking_images(deployment: ModelDeployment, images: Images) -> tuple[str, ...]:
    """Return the types of engines that have no image, of their documents or of a cluster with these."""
    engines = {
        engine_of(deployment, role).type
        for role in roles_of(deployment)
        if running_image(deployment, role, images) is None
    }
    return tuple(sorted(engines))


# Where a document says it, as paths of its fields.


def path_of_role(role: str) -> str:
    """Return where a role is written in the document."""
    return {DECODE: "spec", PREFILL: "spec.prefill"}.get(role, f"spec.roles.{role}")


def path_of_engine(deployment: ModelDeployment, role: str) -> str:
    """Return where the engine of a role is written in the document."""
    block = role_block(deployment, role)
    has_own = isinstance(block, Role) and block.engine is not None
    return f"{path_of_role(role) if has_own else 'spec'}.engine"


def path_of_args(deployment: ModelDeployment, role: str) -> str:
    """Return where the arguments are written that are appended to the command line of a role's engines."""
    prefill = deployment.spec.prefill
    has_own = role == PREFILL and prefill is not None and prefill.args is not None
    return "spec.prefill.args" if has_own else f"{path_of_engine(deployment, role)}.args"


def path_of_image(deployment: ModelDeployment, role: str) -> str:
    """Return where the document declares the image of a role's engine outside of its template."""
    prefill = deployment.spec.prefill
    has_own = role == PREFILL and prefill is not None and prefill.image
    return "spec.prefill.image" if has_own else f"{path_of_engine(deployment, role)}.image"


def path_of_selector(deployment: ModelDeployment, role: str) -> str:
    """Return where the condition on the devices of a role's pool is written in the document."""
    block = role_block(deployment, role)
    selector = block.node_selector if block else None
    return f"{path_of_role(role) if selector else 'spec'}.nodeSelector.cel"


def template_path(deployment: ModelDeployment, role: str = DECODE, position: Position = "Entry") -> str:
    """Return where the template of a role's pods in a position is written in the document."""
    return f"{path_of_role(role)}.workers.{workers_of(deployment, role).path_of(position)}"


class RoleTemplate(NamedTuple):
    """A template of a role's pods, where it is written, and the first position that it is for."""

    position: Position
    path: str
    template: PodTemplate


def role_templates(deployment: ModelDeployment, role: str) -> Iterator[RoleTemplate]:
    """Yield the templates of a role's pods, one that is for all of them once."""
    workers = workers_of(deployment, role)
    for position in POSITIONS if workers.entry else POSITIONS[:1]:
        if template := workers.of(position):
            yield RoleTemplate(position, template_path(deployment, role, position), template)


def role_conditions(deployment: ModelDeployment, role: str) -> Iterator[tuple[str, NodeConditions]]:
    """Yield what the templates of a role ask of nodes, with the path of each template that does."""
    for _, path, template in role_templates(deployment, role):
        if conditions := conditions_of(template.spec):
            yield path, conditions


# Copies of a model. A worker with data parallelism has several of them, in one pod or in several. Either the
# engine shares requests among them, behind one endpoint, or the endpoint picker does, which then sees each
# pod, or each port of a pod, as an endpoint of its own.


def balance(deployment: ModelDeployment, role: str) -> Balance:
    """Return who shares requests among the copies of a worker: as declared, else by type and topology.

    vLLM's copies in several pods are chosen among by the picker, each on a port of its own where a pod has
    2 to 8 of them; those of further roles on one port, because a Service is in front of them and no picker.
    """
    workers = workers_of(deployment, role)
    topology = workers.topology
    if workers.balance is not None:
        return workers.balance
    if not topology.has_copies_apart or engine_of(deployment, role).type != "vLLM":
        return "Engine"
    picked = role in serving_roles(deployment)
    return "Port" if picked and 2 <= topology.data_local <= MOST_PORTS else "Pod"


def has_copies_apart(deployment: ModelDeployment, role: str, pods: int) -> bool:
    """Return whether each of so many pods of a worker has whole copies of the model."""
    topology = workers_of(deployment, role).topology
    return topology.has_copies_apart and pods == topology.pods_per_worker


def every_pod_serves(deployment: ModelDeployment, role: str, pods: int) -> bool:
    """Return whether each of so many pods of a worker takes requests, and not only its entry."""
    return has_copies_apart(deployment, role, pods) and balance(deployment, role) != "Engine"


# Ports: where requests, health and metrics are, and where pods of a worker meet. An engine that has one port
# for each copy in a pod (balance `Port`) counts them from `engine.port`.

LAST_PORT = 65_535


class Health(NamedTuple):
    """Where a pod tells its health: of all copies in it. `path` is None where an open port is all."""

    port: int
    path: str | None
    ready: str | None


def port_of(engine_: Engine) -> int:
    """Return the port on which requests come in: the document's, or the default of the engine's type.

    The engine itself listens there, unless a routing proxy is in front of it.
    """
    return engine_.port or engine(engine_.type).port


def proxied_port(deployment: ModelDeployment, role: str) -> int | None:
    """Return the port that a routing proxy takes in front of a role's engines, None for roles without one."""
    return port_of(deployment.spec.engine) if role == DECODE and is_disaggregated(deployment) else None


def listening_port(deployment: ModelDeployment, role: str) -> int:
    """Return the first port on which the engine of a role itself listens.

    Behind a routing proxy it is a port within the pod, because both share one address.
    """
    if deployment.spec.prefill is None or proxied_port(deployment, role) is None:
        return port_of(engine_of(deployment, role))
    return deployment.spec.prefill.proxy.engine_port or ENGINE_PORT


def listening_ports(deployment: ModelDeployment, role: str) -> tuple[int, ...]:
    """Return the ports on which the engine of a role itself listens in serving pods, its first port first."""
    return _ports_from(listening_port(deployment, role), deployment, role)


def request_ports(deployment: ModelDeployment, role: str) -> tuple[int, ...]:
    """Return the ports on which serving pods of a role take requests, that of `engine.port` first."""
    return _ports_from(port_of(engine_of(deployment, role)), deployment, role)


def target_ports(deployment: ModelDeployment) -> tuple[int, ...]:
    """Return the target ports of the deployment's InferencePool on every cluster.

    They are those of the role that has most; pods with fewer say so in an annotation.
    """
    return max((request_ports(deployment, role) for role in serving_roles(deployment)), key=len)


def serving_ports(deployment: ModelDeployment, role: str, shape: Shape) -> tuple[int, ...]:
    """Return the ports of each serving pod of a role, in workers of a shape."""
    return _in_pod(request_ports(deployment, role), deployment, role, shape)


def engine_ports(deployment: ModelDeployment, role: str, shape: Shape) -> tuple[int, ...]:
    """Return the ports on which the engine itself listens in each serving pod of a role.

    They are others than `serving_ports` behind a routing proxy, which takes those.
    """
    return _in_pod(listening_ports(deployment, role), deployment, role, shape)


def _ports_from(first: int, deployment: ModelDeployment, role: str) -> tuple[int, ...]:
    if balance(deployment, role) != "Port":
        return (first,)
    # Ports beyond the last one are refused, by one message instead of one for each pod that has them.
    last = min(first + workers_of(deployment, role).topology.data_local - 1, LAST_PORT)
    return tuple(range(first, last + 1))


def _in_pod(ports: tuple[int, ...], deployment: ModelDeployment, role: str, shape: Shape) -> tuple[int, ...]:
    # With tensor parallelism over nodes a copy takes several pods of this shape, and only the entry serves.
    return ports if shape.pods == workers_of(deployment, role).topology.pods_per_worker else ports[:1]


def active_ports(ports: tuple[int, ...]) -> str:
    """Return the ports of a serving pod as llm-d's pickers read them in an annotation: `8000,8001`."""
    return ",".join(map(str, ports))


def health(deployment: ModelDeployment, role: str) -> Health | None:
    """Return where a serving pod of a role tells its health.

    None where nothing may listen: engines of type Other in a role beside those that serve, without a port
    that the role itself declares. Workers behind a frontend, such as Dynamo's, have no port at all.
    With a port for each copy, vLLM's supervisor tells that of all on a port of its own: `/ready` once all
    answer (vllm/entrypoints/openai/dp_supervisor.py).
    """
    table = engine(engine_of(deployment, role).type)
    beside = deployment.spec.roles.get(role)
    if beside and table.health_path is None and not (beside.engine and beside.engine.port):
        return None
    if len(request_ports(deployment, role)) > 1 and table.supervisor_port:
        return Health(table.supervisor_port, "/health", "/ready")
    # Not through a routing proxy, which answers for itself.
    return Health(listening_port(deployment, role), table.health_path, table.health_path)


def metrics_ports(deployment: ModelDeployment, role: str) -> tuple[int, ...]:
    """Return the ports on which a serving pod of a role has metrics: those of its engine, or one beside."""
    beside = engine(engine_of(deployment, role).type).metrics_port
    return (beside,) if beside else listening_ports(deployment, role)


def supervisor_port(deployment: ModelDeployment, role: str) -> int | None:
    """Return the port of the process that supervises the engine's copies in a pod, None without one."""
    supervises = balance(deployment, role) == "Port"
    return engine(engine_of(deployment, role).type).supervisor_port if supervises else None


# The revision of prefill and decode. Pods of two forms of a KV cache must never serve one request, so a hash
# of all that may decide the form stands in the names of workloads, picker and InferencePool: declared fields
# and, as they are written, args, commands and variables, or `engine.revision` in their place. Pools, numbers
# of replicas and what plugins change are not in it: what plugins change rolls.

_REVISION_DIGITS = 6
_TUNED = ("command", "args", "env", "envFrom")


def revision(deployment: ModelDeployment, images: Images) -> str:
    """Return the revision of the pods on a cluster with these images, "" where prefill and decode are one."""
    prefill, engine = deployment.spec.prefill, deployment.spec.engine
    if prefill is None:
        return ""
    facts: dict[str, Any] = {
        "type": engine.type,
        # Of a cache too: the same files in another one have the same form.
        "model": engine.model.model_dump(include={"repository", "revision"}) if engine.model else None,
        "connector": connector(deployment),
        "options": prefill.options,
        "revision": engine.revision,
    }
    for role in serving_roles(deployment):
        topology = workers_of(deployment, role).topology
        facts[role] = {
            "image": _images(deployment, role, images),
            "tensor": topology.tensor,
            "pipeline": topology.pipeline,
            "tuned": None if engine.revision else tuned(deployment, role),
        }
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_REVISION_DIGITS]


def _images(deployment: ModelDeployment, role: str, images: Images) -> str | None:
    """Return the images of a role's engines, of entries first and of followers where that is another."""
    entry = running_image(deployment, role, images)
    follower = workers_of(deployment, role).of("Follower")
    follower_image = follower.engine.get("image", entry) if follower else entry
    return entry if follower_image == entry else f"{entry} {follower_image}"


def tuned(deployment: ModelDeployment, role: str) -> dict[str, Any]:
    """Return args, commands and variables of a role's engines, which `engine.revision` replaces."""
    workers = workers_of(deployment, role)
    fields: dict[str, Any] = {"args": list(args_of(deployment, role))}
    for position in POSITIONS:
        template = workers.of(position)
        if template is not None:
            fields[position] = {key: template.engine[key] for key in _TUNED if key in template.engine}
    return fields


def tuned_under_one_revision(before: ModelDeployment, after: ModelDeployment) -> bool:
    """Return whether args, commands or variables change, and `engine.revision` says the form does not."""
    if not is_disaggregated(before) or not is_disaggregated(after):
        return False
    revision_name = after.spec.engine.revision
    if revision_name is None or revision_name != before.spec.engine.revision:
        return False
    return any(tuned(before, role) != tuned(after, role) for role in serving_roles(after))
