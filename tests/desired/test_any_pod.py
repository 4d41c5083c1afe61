"""Whatever stands in a pod template, it is refused by the model or leads to manifests: nothing crashes."""

import contextlib
import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from small_stack import cluster, deployment, made

from inferfleet.documents.problems import InvalidDocuments

ENGINE: dict[str, Any] = {
    "command": ["serve"],
    "args": ["--port=8000"],
    "env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}],
    "envFrom": [{"secretRef": {"name": "hf", "optional": True}}],
    "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
    "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": 1}, "requests": {"memory": "1Gi"}},
    "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],
    "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
}
POD: dict[str, Any] = {
    "imagePullSecrets": [{"name": "pull"}],
    "initContainers": [{"name": "fetch", "image": "fetch:1"}],
    "volumes": [
        {"name": "dshm", "emptyDir": {"medium": "Memory"}},
        {"name": "a", "secret": {"secretName": "hf", "items": [{"key": "k", "path": "k"}]}},
        {
            "name": "b",
            "projected": {"sources": [{"secret": {"name": "hf", "items": [{"key": "k", "path": "p"}]}}]},
        },
    ],
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"operator": "Exists"}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                ]
            }
        },
        "podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}
            ]
        },
    },
    "terminationGracePeriodSeconds": 60,
}
PLUGINS = (
    {"name": "demo-pod-tweaks", "config": {"annotations": {"a": "b"}, "env": [{"name": "A", "value": "1"}]}},
    {"name": "accelerator", "config": {"product": "L4", "engineEnv": [{"name": "B", "value": "2"}]}},
)
VALUES = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1.5,
        "",
        "x",
        "8000",
        [],
        {},
        [None],
        ["x"],
        [{}],
        {"x": None},
        {"x": {}},
        {"name": "x"},
    ]
)


def _places(value: Any) -> list[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in pairs for place in ((value, key), *_places(inner))]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_pod_with_any_value_anywhere_is_refused_in_words_or_made(data: st.DataObject) -> None:
    engine, pod = copy.deepcopy((ENGINE, POD))
    for _ in range(data.draw(st.integers(1, 2))):
        holder, key = data.draw(st.sampled_from([*_places(engine), *_places(pod)]))
        holder[key] = copy.deepcopy(data.draw(VALUES))  # the next place may lie in it
    with contextlib.suppress(ValidationError, InvalidDocuments):
        made(cluster("east"), deployment("a", engine=engine, pod=pod, plugins=PLUGINS))


def test_the_pod_without_such_values_is_made() -> None:
    assert made(cluster("east"), deployment("a", engine=ENGINE, pod=POD, plugins=PLUGINS)).plan.placements
