"""Adapters in pods: what each is to serve, where its files are, and what has the engine load them.

For vLLM a ConfigMap says what pods serve, and a sidecar makes it so, without a roll; a pod is ready once its
sidecar tried each of them. vLLM has to be told that adapters may be loaded while it serves, which would be
for everybody who reaches it, so a guard within its server lets the sidecar alone do it. SGLang is told by
flags: a container fetches the files before it begins, and a change is a roll.
"""

import json
from collections.abc import Mapping
from functools import cache as cached
from pathlib import Path
from types import ModuleType
from typing import Any

from inferfleet.documents.kinds.adapters import Adapter
from inferfleet.documents.kinds.model_cache import ModelCache
from inferfleet.documents.kinds.model_deployment import Engine, ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.adapters import VARIABLES, adapter_names, loads_while_serving
from inferfleet.serving import adapter_guard, adapter_loader, filling
from inferfleet.serving.engines.command_line import (
    ADAPTERS,
    ADAPTERS_PORT,
    CACHED_ADAPTERS,
    WorkerPod,
    adapter_path,
)
from inferfleet.serving.metadata import metadata
from inferfleet.serving.programs import variable_of_pod
from inferfleet.serving.weights import RESTRAINED, mount_cache

SIDECAR, FETCHER = "adapters", "fetch-adapters"
FILE = "adapters.json"
# Where the sidecar and vLLM have what guards it, and the sidecar what the pod is to serve.
_GUARD, _FILES = "/inferfleet-guard", "/inferfleet-adapters"
# It listens once it has written the guard, without which the engine would not start.
_STARTUP_SECONDS = 60


def config_map(deployment: ModelDeployment, *, stack: str) -> dict[str, Any] | None:
    """Return the ConfigMap that says which adapters pods serve; None where none is loaded while they do."""
    engine = deployment.spec.engine
    if not loads_while_serving(engine):
        return None
    own = deployment.metadata
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(
            names.adapters(own.key), stack=stack, namespace=own.namespace, deployment=own.key
        ),
        "data": {FILE: _listed(engine, adapter_names(deployment))},
    }


def _listed(engine: Engine, told: tuple[str, ...]) -> str:
    """Return the file that the program reads, with the names that the engine is told."""
    return json.dumps(
        [_item(name, adapter) for name, adapter in zip(told, engine.adapters, strict=True)],
        indent=1,
    )


def _item(name: str, adapter: Adapter) -> dict[str, str]:
    source = adapter.source
    if source.cache:
        return {"name": name, "label": adapter.name, "path": adapter_path(adapter)}
    return {
        "name": name,
        "label": adapter.name,
        "repository": str(source.repository),
        "revision": str(source.revision),
    }


def load_adapters(
    spec: dict[str, Any], container: dict[str, Any], worker: WorkerPod, caches: Mapping[str, ModelCache]
) -> None:
    """Give the engine of a pod its adapters. `caches` are those that hold files, by names of adapters."""
    engine = worker.engine
    volumes, mounts = spec.setdefault("volumes", []), container.setdefault("volumeMounts", [])
    for name, cache in caches.items():
        mount_cache(
            spec, container, cache, path=f"{CACHED_ADAPTERS}/{name}", volume=f"weights-{cache.metadata.name}"
        )
    volumes.append({"name": "adapters", "emptyDir": {}})
    mounts.append({"name": "adapters", "mountPath": ADAPTERS, "readOnly": True})
    first = spec.setdefault("initContainers", [])
    if not loads_while_serving(engine):
        if any(adapter.source.repository for adapter in engine.adapters):
            first.append(_fetcher(container, engine))
        return
    volumes.append({"name": "adapters-guard", "emptyDir": {"medium": "Memory"}})
    volumes.append(
        {"name": "adapters-file", "configMap": {"name": names.adapters(worker.deployment.metadata.key)}}
    )
    mounts.append({"name": "adapters-guard", "mountPath": _GUARD, "readOnly": True})
    first.append(_sidecar(container, worker))
    container["env"] = [
        *({"name": name, "value": value} for name, value in zip(VARIABLES, ("1", _GUARD), strict=True)),
        *container.get("env", []),
    ]


def _fetcher(container: Mapping[str, Any], engine: Engine) -> dict[str, Any]:
    """Return the container that fetches adapters before an engine begins."""
    fetched = [_item(adapter.name, adapter) for adapter in engine.adapters if adapter.source.repository]
    variables = [{"name": "ADAPTERS_ONCE", "value": json.dumps(fetched)}]
    return _container(FETCHER, container, variables)


def _sidecar(container: Mapping[str, Any], worker: WorkerPod) -> dict[str, Any]:
    """Return the native sidecar that has vLLM load adapters, of the engine's image: its node has that."""
    variables = [
        variable_of_pod("POD_IP", "status.podIP"),
        {"name": "ADAPTERS_FILE", "value": f"{_FILES}/{FILE}"},
        {"name": "ADAPTERS_GUARD", "value": _GUARD},
        {"name": "ADAPTERS_GUARD_TEXT", "value": _text(adapter_guard)},
        {"name": "ADAPTERS_MODEL", "value": worker.model.name},
        {"name": "ADAPTERS_ENGINE", "value": str(worker.port)},
        {"name": "ADAPTERS_PORT", "value": str(ADAPTERS_PORT)},
    ]
    made = _container(SIDECAR, container, variables)
    made["volumeMounts"] += [
        {"name": "adapters-guard", "mountPath": _GUARD},
        {"name": "adapters-file", "mountPath": _FILES, "readOnly": True},
    ]
    return {
        **made,
        "restartPolicy": "Always",
        "startupProbe": {
            "httpGet": {"path": "/started", "port": ADAPTERS_PORT},
            "periodSeconds": 1,
            "failureThreshold": _STARTUP_SECONDS,
        },
        "readinessProbe": {"httpGet": {"path": "/ready", "port": ADAPTERS_PORT}, "periodSeconds": 2},
    }


def _container(name: str, container: Mapping[str, Any], variables: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a container of the program, with the variables of the engine: its hub, proxies and token."""
    from_where = {"envFrom": container["envFrom"]} if "envFrom" in container else {}
    return {
        "name": name,
        "image": container.get("image", ""),
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-c", _text(adapter_loader)],
        **from_where,
        "env": [
            *container.get("env", []),
            {"name": "ADAPTERS_FOLDER", "value": ADAPTERS},
            {"name": "ADAPTERS_FILLING", "value": _text(filling)},
            *variables,
        ],
        "volumeMounts": [{"name": "adapters", "mountPath": ADAPTERS}],
        "securityContext": RESTRAINED,
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


@cached
def _text(module: ModuleType) -> str:
    return Path(str(module.__file__)).read_text()
