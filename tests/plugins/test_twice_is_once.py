"""Built-in plugins may run twice, and give the same each time, also over templates that no chain would take.

Two have random configs here, the others their examples.
"""

import copy
from typing import Any

import pytest
from example_plugins import examples
from gke_pods import RDMA, TCPXO
from hypothesis import given, settings
from hypothesis import strategies as st
from one_request import REQUEST

from inferfleet.plugins.contract import Edited, Plugin, PluginError, PodTemplate, Request
from inferfleet.plugins.registry import builtin

NAMES = st.sampled_from(["A", "B", "HF_HOME", "NCCL_DEBUG"])
LABELS = st.sampled_from(["nvidia.com/gpu.product", "zone", "example.com/gpu"])
VALUES = st.sampled_from(["x", "y", "NVIDIA-H100"])
PLAIN = st.fixed_dictionaries({"name": NAMES}, optional={"value": VALUES})
FROM = st.fixed_dictionaries(
    {"name": NAMES, "valueFrom": st.just({"secretKeyRef": {"name": "s", "key": "k", "optional": True}})}
)
# In templates names may repeat; in configs they may not.
ENV = st.lists(PLAIN | FROM, max_size=5)
ENV_ONCE = st.lists(PLAIN | FROM, max_size=4, unique_by=lambda one: str(one["name"]))
EXPRESSION = st.fixed_dictionaries(
    {"key": LABELS, "operator": st.sampled_from(["In", "NotIn"]), "values": st.lists(VALUES, min_size=1)}
)
TERM = st.fixed_dictionaries({}, optional={"matchExpressions": st.lists(EXPRESSION, max_size=2)})
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
AFFINITY = st.lists(TERM, max_size=3).map(
    lambda terms: {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
)


def _container(name: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"name": st.just(name), "image": st.just("i")}, optional={"env": ENV})


TEMPLATES = st.fixed_dictionaries(
    {
        "spec": st.fixed_dictionaries(
            {"containers": st.tuples(_container("engine"), _container("logs")).map(list)},
            optional={
                "initContainers": st.lists(_container("fetch"), max_size=1),
                "runtimeClassName": st.sampled_from(["nvidia", "kata"]),
                "nodeSelector": st.dictionaries(LABELS, VALUES, max_size=2),
                "affinity": AFFINITY,
            },
        )
    },
    optional={
        "metadata": st.fixed_dictionaries({}, optional={"annotations": st.dictionaries(LABELS, VALUES)})
    },
)
CONFIGS = {
    "demo-pod-tweaks": st.fixed_dictionaries(
        {},
        optional={
            "runtimeClassName": st.sampled_from(["", "nvidia"]),
            "annotations": st.dictionaries(LABELS, VALUES),
            "env": ENV_ONCE,
        },
    ),
    "accelerator": st.fixed_dictionaries(
        {"product": st.lists(VALUES, min_size=1) | VALUES},
        optional={
            "runtimeClassName": st.sampled_from(["", "nvidia"]),
            "productLabel": LABELS,
            "engineEnv": ENV_ONCE,
        },
    ),
    "engine-args": st.fixed_dictionaries({}, optional={"expertParallel": st.booleans()}),
    "entry-address-file": st.fixed_dictionaries({}, optional={"image": st.just("busybox")}),
    "group-env": st.just({}),
    "hugepages": st.fixed_dictionaries({"amount": st.just("4Gi"), "size": st.sampled_from(["2Mi", "1Gi"])}),
    "lws-standard-labels": st.just({}),
    "network-fabric": st.sampled_from(
        [{"fabric": "InfiniBand"}, {"fabric": "TCPXO"}, {"fabric": "RDMA", "entryPoint": ["serve"]}]
    ),
    "scheduler": st.sampled_from(
        [
            {"system": "Kueue", "queue": "a"},
            {"system": "KAI", "queue": "a"},
            {"system": "Volcano", "priorityClassName": "serving"},
        ]
    ),
}
PODS = {"TCPXO": TCPXO, "RDMA": RDMA}


def once(plugin: Plugin, template: PodTemplate, config: dict[str, Any]) -> PodTemplate:
    pod: Request = PODS.get(config.get("fabric", ""), REQUEST)
    edited = plugin.edit(copy.deepcopy(template), pod, plugin.config.model_validate(config))
    return edited.template if isinstance(edited, Edited) else edited


@pytest.mark.parametrize("plugin", builtin().plugins, ids=lambda plugin: str(plugin.name))
@settings(deadline=None)  # a busy machine is no failure
@given(template=TEMPLATES, draw=st.data())
def test_a_second_run_finds_nothing_to_do(plugin: Plugin, template: PodTemplate, draw: st.DataObject) -> None:
    random = plugin.name in CONFIGS
    configs = CONFIGS[plugin.name] if random else st.sampled_from(examples(plugin.name, REQUEST))
    config: Any = draw.draw(configs)
    try:
        first = once(plugin, template, config)
    except PluginError:
        return  # refused with words, which is as far as this template gets
    assert once(plugin, first, config) == first
    assert once(plugin, template, config) == first
