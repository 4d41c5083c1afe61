"""Deployments whose workers have several pods, by their command lines, and what is said of these."""

from typing import Any

from inferfleet.fleet.engine_args import check

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import of_severity
from inferfleet.fleet.shapes import Shape

TP_PP = {"tensor": 8, "pipeline": 2}
COPIES = {"tensor": 1, "data": 4, "data_local": 2}
NODES = (
    "--nnodes=$(LWS_GROUP_SIZE)",
    "--node-rank=$(LWS_WORKER_INDEX)",
    "--master-addr=$(LWS_LEADER_ADDRESS)",
)
SIZES = ("-tp=8", "-pp=2")
DP = ("-dp=4", "-dpl=2", "-dpa=$(LWS_LEADER_ADDRESS)")
OPEN = "--host=0.0.0.0"
SGLANG = ("--tp=16", OPEN, "--nnodes=$(LWS_GROUP_SIZE)", "--node-rank=$(LWS_WORKER_INDEX)")
MEETS = "--dist-init-addr=$(LWS_LEADER_ADDRESS):20000"
RAY = "bash multi-node-serving.sh"


def worker(
    entry: Any, follower: Any = None, *, engine: Any = None, env: Any = None, **topology: int
) -> ModelDeployment:
    own = {"template": _template(entry, env)}
    if follower is not None:
        own = {"entry": own, "follower": {"template": _template(follower, env)}}
    return ModelDeployment.model_validate(
        {
            "metadata": {"name": "kimi"},
            "spec": {
                "replicas": 1,
                "engine": {"type": engine} if isinstance(engine, str) else engine or {},
                "workers": {"topology": topology, **own},
            },
        }
    )


def _template(args: Any, env: Any) -> Any:
    line = {"command": ["sh", "-c", args]} if isinstance(args, str) else {"args": list(args)}
    return {"spec": {"containers": [{"name": "engine", "image": "x", **line, "env": env or []}]}}


def said(deployment: ModelDeployment, *shapes: Shape) -> tuple[list[str], list[str]]:
    problems = tuple(check(deployment, {"decode": shapes} if shapes else None))
    errors, warnings = of_severity(problems, "error"), of_severity(problems, "warning")
    return [problem.what for problem in errors], [problem.what for problem in warnings]
