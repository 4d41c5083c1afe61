"""Waiting for what add-ons serve: kinds after they are defined, and webhooks after their controllers run.

An API server builds its schema anew after each definition, when it is next asked for it and has noticed, and
Pulumi's provider gives up on that after 32 s, which a busy server may need. A controller makes its
certificates once it runs, and kubelets hand them to its pod a minute later; until then the API server refuses
what the webhook is for. So the schema is asked for until it has what a definition defines, and each webhook,
by the subresource `proxy` of its Service, before an object that it is called for is.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from inferfleet.clusters.connections.api import Api
from inferfleet.clusters.connections.ask import ask
from inferfleet.desired.addons import DEFINITION
from inferfleet.desired.values import AwaitServed, Connection, Desired, KubeObject
from inferfleet.documents.problems import Problem

# A kubelet syncs Secrets within some 90 s, and the pod has to start besides.
SECONDS = 300.0
_PAUSE = 1.0
# Between a client and a pod that does not listen yet, and a server that has no such path yet.
_NOT_YET = (404, 502, 503, 504)


def serving_waiter(
    desired: Desired, kubeconfigs: Mapping[str, str], *, container_api: str, seconds: float = SECONDS
) -> AwaitServed:
    """Return the function that waits until a definition is served, or the webhooks of another object answer,
    and returns why not.

    `kubeconfigs` holds texts by existing cluster. The Container API at the address `container_api` says where
    the others are.
    """
    clusters = {
        item.key: replace(desired, clusters=(cluster,))
        for cluster in desired.clusters
        for item in cluster.objects
        if item.webhooks or item.kind == DEFINITION
    }
    answering: set[tuple[str, str]] = set()

    def wait(item: KubeObject) -> str | None:
        only = clusters[item.key]
        cluster = only.clusters[0].connection.cluster
        paths = tuple(path for path in _paths(item) if (cluster, path) not in answering)
        if item.kind == DEFINITION:
            question = partial(_undefined, tuple(_defined(item)))
        elif paths:
            question = partial(_silent, paths)
        else:
            return None
        answers = ask(only, kubeconfigs, question, container_api=container_api, seconds=seconds)
        answer = answers.get(cluster)
        if isinstance(answer, Problem):
            return str(answer)
        if answer:
            return _failure(item, cluster, str(answer), seconds)
        answering.update((cluster, path) for path in paths)
        return None

    async def awaited(item: KubeObject) -> str | None:
        return await asyncio.to_thread(wait, item)

    return awaited


def _failure(item: KubeObject, cluster: str, answer: str, seconds: float) -> str:
    if item.kind == DEFINITION:
        return (
            f"the API server of cluster {cluster!r} does not serve what {item.title} defines within "
            f"{seconds:.0f} s: its schema has no {answer}. See whether it is overloaded, and run the same "
            "command again"
        )
    return (
        f"the webhooks that the API server of cluster {cluster!r} calls for {item.title} do not answer "
        f"within {seconds:.0f} s: {answer}. See the log of their controller"
    )


def _paths(item: KubeObject) -> Iterator[str]:
    """Yield where the API server proxies to each webhook that is reached by a Service."""
    for configuration in item.webhooks:
        for webhook in configuration.manifest.get("webhooks") or ():
            if service := webhook["clientConfig"].get("service"):
                name = f"https:{service['name']}:{service.get('port', 443)}"
                path = service.get("path", "/").lstrip("/")
                yield f"/api/v1/namespaces/{service['namespace']}/services/{name}/proxy/{path}"


def _defined(definition: KubeObject) -> Iterator[str]:
    """Yield the path of each version in which a definition has its kind served."""
    spec = definition.manifest["spec"]
    for version in spec["versions"]:
        if version.get("served"):
            yield f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"


def _undefined(paths: tuple[str, ...], _: Connection, api: Api) -> str:
    """Wait until the schema has all paths, and return the first that it has not; "" once it has them."""
    while True:
        schema = api.schema()
        missing = [path for path in paths if path.encode() not in schema]
        if not missing or time.monotonic() + 2 * _PAUSE > api.deadline:
            return missing[0] if missing else ""
        time.sleep(_PAUSE)


def _silent(paths: tuple[str, ...], _: Connection, api: Api) -> str:
    """Wait until all paths are answered, and return what the last of them says; "" once they are."""
    for path in paths:
        while (answer := api.proxied(path)).status in _NOT_YET:
            if time.monotonic() + 2 * _PAUSE > api.deadline:
                return f"status {answer.status}"
            time.sleep(_PAUSE)
    return ""
