"""Finds the pods of a sandbox by name, and reads the logs that the agents keep for them."""

from dataclasses import dataclass
from pathlib import Path

from sandbox.agent.logs import PREVIOUS
from sandbox.clusters import created_names
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem


@dataclass(frozen=True)
class LoggedPod:
    """A pod that an agent runs, and the folder that the agent keeps for it."""

    cluster: str
    namespace: str
    name: str
    folder: Path

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} on {self.cluster}"

    @property
    def containers(self) -> dict[str, Path]:
        """The log file of each container that has one, by name."""
        logs = sorted((self.folder / "logs").glob("*.log"))
        return {log.stem: log for log in logs if not log.stem.endswith(PREVIOUS)}


def logged_pods(places: StackPlaces) -> tuple[LoggedPod, ...]:
    """Return all pods with logs, on all clusters of the stack."""
    pods = []
    for cluster in created_names(places):
        for folder in sorted((places.cluster_folder(cluster) / "pods").glob("*_*_*")):
            # The agent's `pod_folder` makes these names; names in Kubernetes have no underscores.
            namespace, name, _ = folder.name.split("_")
            pods.append(LoggedPod(cluster, namespace, name, folder))
    return tuple(pods)


def find(pods: tuple[LoggedPod, ...], wanted: str) -> LoggedPod:
    """Return the pod called `name` or `namespace/name`, or the only one whose name begins so.

    Raises SandboxProblem, naming the pods there are.
    """
    namespace, slash, name = wanted.rpartition("/")
    within = [pod for pod in pods if not slash or pod.namespace == namespace]
    exact = [pod for pod in within if pod.name == name]
    matching = exact or [pod for pod in within if pod.name.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        listed = "\n".join(f"  {pod}" for pod in matching)
        raise SandboxProblem(
            f"the names of {len(matching)} pods begin with {wanted!r}. Write more of the name:\n{listed}"
        )
    if not pods:
        raise SandboxProblem(
            f"there is no pod {wanted!r}: no engine or endpoint picker has run in this sandbox. "
            "Run `inferfleet sandbox up`, then `pulumi up`."
        )
    have = "\n".join(f"  {pod}" for pod in pods)
    raise SandboxProblem(f"no pod with logs is called {wanted!r}. Name one of these:\n{have}")


def lines(pod: LoggedPod, container: str | None) -> tuple[str, ...]:
    """Return the log lines of a container, or of all of them, each line then with its container's name."""
    logs = pod.containers
    if container is not None and container not in logs:
        have = ", ".join(logs) or "none yet"
        raise SandboxProblem(f"{pod} has no log of container {container!r} (it has: {have}). Pass -c NAME.")
    chosen = {container: logs[container]} if container is not None else logs
    prefixed = []
    for name, log in chosen.items():
        prefix = f"[{name}] " if len(chosen) > 1 else ""
        prefixed += [f"{prefix}{line}" for line in _text(log).splitlines()]
    return tuple(prefixed)


def _text(log: Path) -> str:
    previous = log.with_suffix(f"{PREVIOUS}.log")
    return "".join(file.read_text(errors="replace") for file in (previous, log) if file.exists())
