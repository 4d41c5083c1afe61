"""A picker of stack `prod`, of which a test says only what matters to it."""

from typing import Any

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.decisions import ExposedPath
from inferfleet.serving.picker import Picker
from inferfleet.tables.pickers import profile


def picker(deployment: ModelDeployment, serving: Serving | None = None, **fields: Any) -> Picker:
    """Return the picker of a deployment on a cluster; `profile` is the name of a row. Paths are those of the
    deployment's own route, unless they say whose they are.
    """
    fields = {"stack": "prod", "replicas": 1, "drain": 130, "profile": "gie-1.5"} | fields
    own = "ModelDeployment", deployment.metadata.key, "spec.route.paths"
    fields["paths"] = tuple(
        ExposedPath(path, *own) if isinstance(path, str) else path for path in fields.get("paths", ())
    )
    return Picker(deployment, serving or Serving(), **fields | {"profile": profile(fields["profile"])})
