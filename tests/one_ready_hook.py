"""A ready hook of a plugin that does what a test says, for one workload on one cluster."""

from types import SimpleNamespace
from typing import Any

from inferfleet.desired.values import KubeObject, ReadyHook
from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.plugins.contract import Config, Plugin, PodTemplate, ReadyFunction, Request
from inferfleet.plugins.link import bind, links
from inferfleet.plugins.registry import Registry

WORKLOAD = KubeObject(
    "east/ml/web-decode-h100",
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "namespace": "ml",
            "name": "web-decode-h100",
            "labels": {"inferfleet.dev/stack": "prod"},
        },
        "spec": {"replicas": 2, "template": {"spec": {}}},
    },
)
# As much of a request as hooks and messages read.
_ASKED: Any = SimpleNamespace(
    namespace="ml",
    deployment=SimpleNamespace(name="web"),
    role="decode",
    position="Entry",
    cluster=SimpleNamespace(name="east"),
    pool=SimpleNamespace(name="h100"),
)


class Greeting(Config):
    """The config of the plugin: a text, and a list, which code can change."""

    text: str = "hello"
    seen: list[str] = []


def _nothing(template: PodTemplate, request: Request, config: Greeting) -> PodTemplate:
    return template


def hook_of(ready: ReadyFunction, *configs: dict[str, Any], held: bool = False) -> ReadyHook:
    """The hook of the plugin `registrar`, which a chain names once for each config."""
    specs = tuple(PluginSpec(name="registrar", config=config) for config in configs or ({},))
    plugin = Plugin("registrar", Greeting, _nothing, version="1.2.0", ready=ready)
    bound, problems = bind(
        links(specs, "deployment", kind="ModelDeployment", key="ml/web"),
        Registry((plugin,)),
        roles=("decode",),
    )
    assert problems == ()
    name = f"{WORKLOAD.name}/registrar"
    return ReadyHook(name, WORKLOAD, bound, _ASKED, "template 0123456789ab", held=held)
