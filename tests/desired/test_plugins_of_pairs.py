"""Plugins in chains of deployments whose prefill is apart: what they write, and what they must not change."""

import json

import pytest
from small_stack import cluster, deployment, made

from inferfleet.api.problems import InvalidDocuments, Problem

NIXL = '{"kv_connector":"NixlConnector","kv_role":"%s"}'


def _pair(
    *plugins: dict[str, object],
    args: tuple[str, ...] = ("--model=m",),
    image: str = "engine:1",
    connector: str = "NIXL",
    **spec: object,
) -> object:
    container = {"name": "engine", "image": image, "args": list(args)}
    prefill = {
        "connector": connector,
        "workers": {"topology": {"tensor": 1}, "template": {"spec": {"containers": [container]}}},
    }
    engine = {"args": list(args), "image": image}
    return deployment("m", engine=engine, prefill=prefill, plugins=list(plugins), **spec)


def _args(*documents: object) -> dict[str, list[str]]:
    """The engine's arguments by role, after the plugins."""
    found = {}
    (component,) = [
        component
        for of in made(cluster("east"), *documents).clusters
        for component in of.components
        if component.kind == "ModelReplicas"
    ]
    for workload in (made_ for made_ in component.objects if made_.kind == "Deployment"):
        pod = workload.manifest["spec"]["template"]
        (engine,) = [part for part in pod["spec"]["containers"] if part["name"] == "engine"]
        found[workload.manifest["metadata"]["labels"]["inferfleet.dev/role"]] = engine["args"]
    return found


def test_engine_args_writes_how_each_side_hands_its_cache_on() -> None:
    written = _args(_pair({"name": "engine-args"}))
    assert {role: [arg for arg in args if "kv-transfer" in arg] for role, args in written.items()} == {
        "decode": [f"--kv-transfer-config={NIXL % 'kv_consumer'}"],
        "prefill": [f"--kv-transfer-config={NIXL % 'kv_producer'}"],
    }


@pytest.mark.parametrize(
    ("version", "policy"), [("v0.15.0", []), ("v0.30.0", ["recompute"]), ("nightly", [])]
)
def test_engine_args_has_decode_read_prompts_whose_caches_are_lost(version: str, policy: list[str]) -> None:
    written = _args(_pair({"name": "engine-args"}, image=f"vllm/vllm-openai:{version}"))
    told = {
        role: [json.loads(arg.partition("=")[2]) for arg in args if "kv-transfer" in arg]
        for role, args in written.items()
    }
    has = {role: [config.get("kv_load_failure_policy") for config in of] for role, of in told.items()}
    assert has == {"decode": policy or [None], "prefill": [None]}


@pytest.mark.parametrize(
    ("version", "config", "places"),
    [
        ("v0.30.0", NIXL % "kv_both", ["spec.workers.template.spec.containers[0].args[1]"]),
        ("nightly", NIXL % "kv_both", ["spec.workers.template.spec.containers[0].args[1]"]),
        ("v0.15.0", NIXL % "kv_both", []),
        ("v0.30.0", NIXL[:-1] % "kv_both" + ',"kv_load_failure_policy":"recompute"}', []),
        ("v0.30.0", NIXL[:-1] % "kv_both" + ',"kv_load_failure_policy":"fail"}', []),
        ("v0.30.0", NIXL.replace("NixlConnector", "LMCacheConnectorV1") % "kv_both", []),
    ],
)
def test_decode_pods_that_leave_open_what_becomes_of_lost_caches_are_told(
    version: str, config: str, places: list[str]
) -> None:
    by = "SharedStorage" if "LMCache" in config else "NIXL"
    args = ("--model=m", f"--kv-transfer-config={config}")
    pair = _pair(args=args, image=f"vllm/vllm-openai:{version}", connector=by)
    told = [warning for warning in made(cluster("east"), pair).warnings if isinstance(warning, Problem)]
    lost = "a prefill pod that ends takes the caches"
    assert [warning.path for warning in told if warning.what.startswith(lost)] == places


@pytest.mark.parametrize(
    ("patch", "said", "step"),
    [
        (
            {"op": "replace", "path": "/spec/containers/0/image", "value": "other:2"},
            "get image other:2, and the document has image engine:1",
            "Write image other:2 in spec.workers.template",
        ),
        (
            {"op": "add", "path": "/spec/containers/0/args/-", "value": "--block-size=64"},
            "get --block-size 64, and the document has nothing of it",
            "Write --block-size 64 in spec.workers.template",
        ),
    ],
)
def test_a_plugin_must_not_change_what_both_sides_exchange(
    patch: dict[str, str], said: str, step: str
) -> None:
    plugin = {"name": "json-patch", "config": {"operations": [patch]}}
    with pytest.raises(InvalidDocuments) as raised:
        made(cluster("east"), _pair(plugin))
    first, *_ = raised.value.problems
    assert (first.path, first.key) == ("spec.plugins[0]", "ml/m")
    assert said in first.what
    assert step in first.next_step
