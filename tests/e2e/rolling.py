"""Clients of several deployments while an update goes on: long streams, short questions, and who answered."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from asking import Answer, ask, going_on, until, url
from handed_over import refused
from project import Project

from inferfleet.fleet.names import DEPLOYMENT, REVISION, ROLE

_numbers = count()
# A prompt that every decider sends to a prefill pod: 500 of its tokens are in no cache.
_CHARACTERS = 2000


@dataclass(frozen=True)
class Pod:
    """A pod of an engine, and which set it belongs to."""

    deployment: str
    role: str
    revision: str
    uid: str

    @property
    def format(self) -> tuple[str, str]:
        return self.deployment, self.revision


@dataclass
class Seen:
    """All pods that there were since the clients began, and their answers by deployment."""

    project: Project
    cluster: str
    streams: dict[str, list[Answer]]
    questions: dict[str, list[Answer]]
    pods: dict[str, Pod]

    def look(self) -> dict[str, Pod]:
        """The pods that are ready now and do not end, by namespace and name; all of them are remembered."""
        listed = self.project.items(self.cluster, "pods", "-l", f"{DEPLOYMENT},{ROLE}")
        now = {pod["metadata"]["name"]: pod for pod in listed}
        known = {f"ml/{name}": _pod(pod["metadata"]) for name, pod in now.items()}
        self.pods |= known
        return {name: pod for name, pod in known.items() if _stays(now[name.removeprefix("ml/")])}

    def refused(self) -> int:
        """How many prompts decode pods could not take over, of those that run now."""
        listed = self.project.items(self.cluster, "pods", "-l", f"{DEPLOYMENT},{ROLE}")
        return refused(self.project, self.cluster, (pod for pod in listed if _stays(pod)))

    def failed(self, deployment: str) -> list[Answer]:
        every = (*self.streams.get(deployment, ()), *self.questions.get(deployment, ()))
        return [answer for answer in every if answer.status != 200]

    def mixed(self) -> list[Answer]:
        """The answers whose prompt was computed by a pod of another set than that which answered."""
        every = [answer for each in (self.streams, self.questions) for one in each.values() for answer in one]
        return [one for one in every if one.prefill and self._format(one.pod) != self._format(one.prefill)]

    def counted(self) -> dict[str, Counter[str]]:
        """The answers by deployment, in words."""
        return {
            name: Counter(_kind(one, "stream") for one in self.streams.get(name, ()))
            + Counter(_kind(one, "question") for one in self.questions.get(name, ()))
            for name in sorted({*self.streams, *self.questions})
        }

    def _format(self, pod: str) -> tuple[str, str]:
        """The set of a pod, which its name tells of pods that came and went between two looks."""
        if pod in self.pods:
            return self.pods[pod].format
        found = re.fullmatch(r"ml/(.+)-(decode|prefill)-[^-]+-([0-9a-f]{6})-[^-]+-[^-]+", pod)
        return (found[1], found[3]) if found else (pod, "")


@contextmanager
def clients(
    project: Project, cluster: str, deployments: Iterable[str], *, tokens: int, streams: int = 2
) -> Iterator[Seen]:
    """So many clients of each deployment with streams of so many tokens, and one with short questions.

    They have begun when the block does. At its end, what has begun is waited for.
    """
    with ExitStack() as all_of_them:
        seen = Seen(project, cluster, {}, {}, {})
        for name in deployments:
            at = url(project, cluster, f"ml/deployments/{name}")
            seen.streams[name] = all_of_them.enter_context(
                going_on(lambda at=at: ask(at, prompt(), tokens=tokens, stream=True), clients=streams)
            )
            seen.questions[name] = all_of_them.enter_context(
                going_on(lambda at=at: ask(at, prompt(), tokens=5, patience=300))
            )
        until("all answer", lambda: all(seen.questions.values()))
        seen.look()
        yield seen
        seen.look()


def prompt() -> str:
    """A prompt that no pod has seen."""
    return f"{next(_numbers):06}".ljust(_CHARACTERS, "x")


def of(pods: Mapping[str, Pod], deployment: str, role: str | None = None) -> set[str]:
    """The UIDs of the pods of a deployment, or of a role of it."""
    return {pod.uid for pod in pods.values() if pod.deployment == deployment and role in (None, pod.role)}


def revisions(pods: Mapping[str, Pod], deployment: str) -> set[str]:
    return {pod.revision for pod in pods.values() if pod.deployment == deployment}


def leads_to(project: Project, cluster: str, deployment: str, revision: str) -> bool:
    """Whether the route of a deployment leads to the pods of this revision."""
    [route] = project.items(cluster, "httproutes", f"--field-selector=metadata.name={deployment}")
    return any(
        backend["name"].endswith(revision)
        for rule in route["spec"]["rules"]
        for backend in rule["backendRefs"]
    )


def tell(seen: Seen) -> None:
    """Print what clients saw, for a test that fails."""
    for name, kinds in seen.counted().items():
        print(name, dict(kinds), seen.failed(name)[:4])


def converged(project: Project, cluster: str) -> None:
    """Nothing is left to do on the cluster, and state and cluster have the same.

    Where prefill has gone, the component that let the route follow goes with the next update.
    """
    again = project.up()
    left = {name: verb for name, verb in again.operations.items() if not name.startswith("ModelEndpoint ")}
    assert (again.code, left) == (0, {}), again.output
    kinds = {"Deployment", "Service", "InferencePool", "HTTPRoute"}
    listed = project.items(cluster, ",".join(sorted(kinds)), "-l", f"inferfleet.dev/stack={project.stack}")
    there = {
        f"{one['kind']} {cluster}/{one['metadata']['namespace']}/{one['metadata']['name']}" for one in listed
    }
    assert there == {one for one in project.state() if one.partition(" ")[0] in kinds}
    told = project.cli("status", "--stack", project.stack)
    assert told.returncode == 0, told.stdout + told.stderr


def _pod(metadata: Mapping[str, Any]) -> Pod:
    labels = metadata["labels"]
    return Pod(labels[DEPLOYMENT], labels[ROLE], labels.get(REVISION, ""), metadata["uid"])


def _stays(pod: Mapping[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", ())
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def _kind(answer: Answer, what: str) -> str:
    if answer.status != 200:
        return f"{what} failed: {answer.status}"
    return f"{what} prefilled apart" if answer.prefill else f"{what} by one pod"
