"""The roles of a deployment: what each runs, and where its document says so."""

from inferfleet.api.kinds.inference_cluster import Images
from inferfleet.api.kinds.model_deployment import Engine, ModelDeployment, NodeSelector
from inferfleet.api.kinds.workers import Position, Workers

# The role that serves the requests of a deployment, and the only one where it does not split its work.
DECODE = "decode"


def roles_of(deployment: ModelDeployment) -> tuple[str, ...]:
    """Return the roles of each replica: the one that serves first, then the others by name."""
    return (DECODE, *sorted(deployment.spec.roles))


def has_role(deployment: ModelDeployment, role: str) -> bool:
    """Return whether the deployment's document has the role."""
    return role == DECODE or role in deployment.spec.roles


def workers_of(deployment: ModelDeployment, role: str) -> Workers:
    """Return the workers of a role. Raises KeyError for a role that the document does not have."""
    return deployment.spec.workers if role == DECODE else deployment.spec.roles[role].workers


def engine_of(deployment: ModelDeployment, role: str) -> Engine:
    """Return the engine of a role: its own, or that of the deployment."""
    own = None if role == DECODE else deployment.spec.roles[role].engine
    return own or deployment.spec.engine


def image_of(deployment: ModelDeployment, role: str, images: Images) -> str | None:
    """Return the image that a cluster with these images has for a role's engine, or None.

    Templates that name one have their own.
    """
    return images.engine.get(engine_of(deployment, role).type)


def without_image(deployment: ModelDeployment) -> tuple[str, ...]:
    """Return the types of engines whose image has to be that of a cluster: templates of entries name none."""
    engines = {
        engine_of(deployment, role).type
        for role in roles_of(deployment)
        if "image" not in workers_of(deployment, role).entry_template.engine
    }
    return tuple(sorted(engines))


def selector_of(deployment: ModelDeployment, role: str) -> NodeSelector | None:
    """Return the condition on the devices of a role's pool: its own, or that of the deployment."""
    own = None if role == DECODE else deployment.spec.roles[role].node_selector
    return own or deployment.spec.node_selector


def path_of_role(role: str) -> str:
    """Return where a role is written in the document."""
    return "spec" if role == DECODE else f"spec.roles.{role}"


def template_path(deployment: ModelDeployment, role: str = DECODE, position: Position = "Entry") -> str:
    """Return where the template of a role's pods in a position is written in the document."""
    return f"{path_of_role(role)}.workers.{workers_of(deployment, role).path_of(position)}"
