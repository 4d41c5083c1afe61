"""Deployments whose prefill is apart, by the command lines of both sides, and what is said of them."""

from collections.abc import Iterable
from typing import Any

from inferfleet.fleet.pairs import check as pairs

from inferfleet.api.kinds.inference_cluster import Images
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.workers import Position
from inferfleet.fleet import engine_args
from inferfleet.fleet.roles import roles_of, workers_of
from inferfleet.fleet.shapes import Shape

IMAGE = "vllm/vllm-openai:v0.17.0"
MODEL = "--model=Qwen/Qwen3-32B"
NIXL = '{"kv_connector":"NixlConnector","kv_role":"%s"}'
NODES = (
    "--nnodes=$(LWS_GROUP_SIZE)",
    "--node-rank=$(LWS_WORKER_INDEX)",
    "--master-addr=$(LWS_LEADER_ADDRESS)",
)
EVERYWHERE: tuple[tuple[str, Position], ...] = tuple(
    (role, position) for role in ("decode", "prefill") for position in ("Entry", "Follower")
)


def transfer(config: str) -> tuple[str, str]:
    return "--kv-transfer-config", config


def pods(*args: str, image: str | None = IMAGE, env: dict[str, str] | None = None, script: str = "") -> Any:
    """A template whose engine has these arguments, or this script."""
    variables = [{"name": name, "value": value} for name, value in (env or {}).items()]
    container: dict[str, Any] = {"name": "engine", "env": variables}
    container |= {"command": ["sh", "-c", script]} if script else {"args": list(args)}
    return {"spec": {"containers": [container | ({"image": image} if image else {})]}}


def pair(
    decode: Any = None,
    prefill: Any = None,
    *,
    engine: str = "vLLM",
    sizes: tuple[dict[str, int], dict[str, int]] = ({"tensor": 1}, {"tensor": 1}),
    apart: dict[str, Any] | None = None,
    proxied: bool = True,
    **spec: Any,
) -> ModelDeployment:
    """`decode` and `prefill` are templates, or `entry` and `follower` with one each; `apart` are fields of
    `prefill` beside its workers. Where they are `proxied`, decode engines listen behind their proxy.
    """
    sides = (
        decode or pods(MODEL, *transfer(NIXL % "kv_consumer")),
        prefill or pods(MODEL, *transfer(NIXL % "kv_producer")),
    )
    for template in _templates(sides[0]) if proxied else ():
        _behind_proxy(template)
    workers = [
        {"topology": size, **({"template": side} if "spec" in side else side)}
        for side, size in zip(sides, sizes, strict=True)
    ]
    return ModelDeployment.model_validate(
        {
            "metadata": {"name": "qwen", "namespace": "ml"},
            "spec": {
                "replicas": 1,
                "engine": {"type": engine},
                "workers": workers[0],
                "prefill": {"workers": workers[1], **(apart or {})},
                **spec,
            },
        }
    )


def _templates(side: Any) -> list[Any]:
    return [side] if "spec" in side else [of["template"] for of in side.values()]


def _behind_proxy(template: Any) -> None:
    """Let the engine listen where the routing proxy of decode pods looks for it."""
    [container] = template["spec"]["containers"]
    if "command" in container:
        *shell, script = container["command"]
        container["command"] = [*shell, f"{script} --port 8200"]
    else:
        container["args"] = [*container["args"], "--port=8200"]


def entries(entry: Any, follower: Any) -> Any:
    return {"entry": {"template": entry}, "follower": {"template": follower}}


def said(deployment: ModelDeployment, images: Iterable[Images] = ()) -> list[tuple[str, str, str]]:
    """Severity, field and message of all that is said of the command lines, on nodes of eight GPUs.

    Of sizes and ports that they leave out nothing is said, as with plugin engine-args.
    """
    shapes = {
        role: [Shape(max(size.tensor // 8, size.pods_per_worker), min(8, size.gpus_per_pod))]
        for role in roles_of(deployment)
        if (size := workers_of(deployment, role).topology)
    }
    problems = (
        *engine_args.check(deployment, shapes, written=EVERYWHERE),
        *pairs.check(deployment, images),
    )
    return [(problem.severity, problem.path, problem.what) for problem in problems]
