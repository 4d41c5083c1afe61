"""The roles of a deployment: what each runs, and where its document says so."""

from inferfleet.documents.kinds.inference_cluster import Images, Serving
from inferfleet.documents.kinds.model_deployment import Engine, ModelDeployment, Role
from inferfleet.documents.kinds.serving.prefill import Prefill
from inferfleet.documents.kinds.workers import NodeSelector, Position, Workers
from inferfleet.tables.engines import CONNECTORS, Connector, engine
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


def profile_of(deployment: ModelDeployment, serving: Serving) -> str:
    """Return the name of the profile of a deployment's picker and routing proxies on a cluster."""
    return deployment.spec.profile or serving.profile


def picker_of(deployment: ModelDeployment, serving: Serving) -> Profile:
    """Return the row of the table for a deployment's picker and routing proxies on a cluster."""
    return picker(profile_of(deployment, serving), disaggregated=is_disaggregated(deployment))


def hands_over(deployment: ModelDeployment, role: str) -> bool:
    """Return whether pods of the role are one side of two that hand KV caches on."""
    return is_disaggregated(deployment) and role in serving_roles(deployment)


def workers_of(deployment: ModelDeployment, role: str) -> Workers:
    """Return the workers of a role. Raises KeyError for a role that the document does not have."""
    return (_beside(deployment, role) or deployment.spec).workers


def engine_of(deployment: ModelDeployment, role: str) -> Engine:
    """Return the engine of a role: its own, or that of the deployment. Prefill and decode have the same."""
    beside = _beside(deployment, role)
    own = beside.engine if isinstance(beside, Role) else None
    return own or deployment.spec.engine


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


def startup_of(engine_: Engine) -> int:
    """Return the seconds that a pod may take to load its model: the document's, or its type's default."""
    return engine_.startup or engine(engine_.type).startup


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


def declared_image(deployment: ModelDeployment, role: str) -> str | None:
    """Return the image that the document declares for a role's engine outside of its template, or None."""
    prefill = deployment.spec.prefill
    if role == PREFILL and prefill is not None and prefill.image:
        return prefill.image
    return engine_of(deployment, role).image


def path_of_image(deployment: ModelDeployment, role: str) -> str:
    """Return where the document declares the image of a role's engine outside of its template."""
    prefill = deployment.spec.prefill
    own = role == PREFILL and prefill is not None and prefill.image
    return "spec.prefill.image" if own else f"{path_of_engine(deployment, role)}.image"


def image_of(deployment: ModelDeployment, role: str, images: Images, *, nvidia: bool = True) -> str | None:
    """Return the image of a role's engine where its template names none: the declared one, else that of a
    cluster with these images, else, on `nvidia`'s GPUs, the usual one of its type in its version; or None.
    """
    engine_ = engine_of(deployment, role)
    if named := declared_image(deployment, role) or images.engine.get(engine_.type):
        return named
    repository, version = engine(engine_.type).image, version_of(deployment, role)
    return f"{repository}:v{_whole(version)}" if repository and version and nvidia else None


def _whole(version: str) -> str:
    """Return a version with three numbers, as tags of images have them: `0.33` is `0.33.0`."""
    numbers = version.split(".")
    return ".".join(numbers + ["0"] * (3 - len(numbers)))


def version_of(deployment: ModelDeployment, role: str) -> str | None:
    """Return the version of a role's engine: the declared one, else the usual one of its type, or None."""
    engine_ = engine_of(deployment, role)
    return engine_.version or engine(engine_.type).version


def running_image(deployment: ModelDeployment, role: str, images: Images) -> str | None:
    """Return the image of a role's engine on a cluster with these images: the template's own comes first."""
    own: str | None = workers_of(deployment, role).entry_template.engine.get("image")
    return own or image_of(deployment, role, images)


def lacking_images(deployment: ModelDeployment, images: Images) -> tuple[str, ...]:
    """Return the types of engines that have no image, of their documents or of a cluster with these."""
    engines = {
        engine_of(deployment, role).type
        for role in roles_of(deployment)
        if running_image(deployment, role, images) is None
    }
    return tuple(sorted(engines))


def selector_of(deployment: ModelDeployment, role: str) -> NodeSelector | None:
    """Return the condition on the devices of a role's pool: its own, or that of the deployment."""
    beside = _beside(deployment, role)
    own = beside.node_selector if beside else None
    return own or deployment.spec.node_selector


def path_of_selector(deployment: ModelDeployment, role: str) -> str:
    """Return where the condition on the devices of a role's pool is written in the document."""
    beside = _beside(deployment, role)
    own = beside.node_selector if beside else None
    return f"{path_of_role(role) if own else 'spec'}.nodeSelector.cel"


def path_of_engine(deployment: ModelDeployment, role: str) -> str:
    """Return where the engine of a role is written in the document."""
    beside = _beside(deployment, role)
    own = isinstance(beside, Role) and beside.engine is not None
    return f"{path_of_role(role) if own else 'spec'}.engine"


def path_of_args(deployment: ModelDeployment, role: str) -> str:
    """Return where the arguments are written that are appended to the command line of a role's engines."""
    prefill = deployment.spec.prefill
    own = role == PREFILL and prefill is not None and prefill.args is not None
    return "spec.prefill.args" if own else f"{path_of_engine(deployment, role)}.args"


def path_of_role(role: str) -> str:
    """Return where a role is written in the document."""
    return {DECODE: "spec", PREFILL: "spec.prefill"}.get(role, f"spec.roles.{role}")


def template_path(deployment: ModelDeployment, role: str = DECODE, position: Position = "Entry") -> str:
    """Return where the template of a role's pods in a position is written in the document."""
    return f"{path_of_role(role)}.workers.{workers_of(deployment, role).path_of(position)}"


def _beside(deployment: ModelDeployment, role: str) -> Role | Prefill | None:
    """Return what the document says of a role other than DECODE. Raises KeyError for one it does not have."""
    if role == DECODE:
        return None
    return deployment.spec.prefill if role == PREFILL else deployment.spec.roles[role]
