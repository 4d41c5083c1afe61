"""What containers of simulated clusters said last: the files their agents keep."""

from dataclasses import dataclass
from pathlib import Path

from sandbox.agent.logs import PREVIOUS
from sandbox.clusters import created_names
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem


@dataclass(frozen=True)
class LoggedPod:
    """A pod that an agent runs or ran, by the folder it keeps for it."""

    cluster: str
    namespace: str
    name: str
    folder: Path

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} on {self.cluster}"

    @property
    def containers(self) -> dict[str, Path]:
        """The log of each container that said something, by name."""
        logs = sorted((self.folder / "logs").glob("*.log"))
        return {log.stem: log for log in logs if not log.stem.endswith(PREVIOUS)}


def logged_pods(places: StackPlaces) -> tuple[LoggedPod, ...]:
    """All pods with logs, of all clusters of the stack."""
    found = []
    for cluster in created_names(places):
        for folder in sorted((places.cluster_folder(cluster) / "pods").glob("*_*_*")):
            # As `pod_folder` of the agent makes them; no name of Kubernetes has an underscore.
            namespace, name, _ = folder.name.split("_")
            found.append(LoggedPod(cluster, namespace, name, folder))
    return tuple(found)


def find(pods: tuple[LoggedPod, ...], wanted: str) -> LoggedPod:
    """The pod called `name` or `namespace/name`, or the only one whose name begins so."""
    namespace, slash, name = wanted.rpartition("/")
    within = [pod for pod in pods if not slash or pod.namespace == namespace]
    exact = [pod for pod in within if pod.name == name]
    matching = exact or [pod for pod in within if pod.name.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        listed = "\n".join(f"  {pod}" for pod in matching)
        raise SandboxProblem(f"{len(matching)} pods are called {wanted!r}; write more of the name:\n{listed}")
    have = "\n".join(f"  {pod}" for pod in pods) or "  none"
    raise SandboxProblem(f"no pod with logs is called {wanted!r}. The sandbox has:\n{have}")


def lines(pod: LoggedPod, container: str | None) -> tuple[str, ...]:
    """What the container said; with several of them and none chosen, each line says whose it is."""
    logs = pod.containers
    if container is not None and container not in logs:
        have = ", ".join(logs) or "none yet"
        raise SandboxProblem(f"{pod} has no log of container {container!r} (it has: {have}). Pass -c NAME.")
    chosen = {container: logs[container]} if container is not None else logs
    said = []
    for name, log in chosen.items():
        prefix = f"[{name}] " if len(chosen) > 1 else ""
        said += [f"{prefix}{line}" for line in _text(log).splitlines()]
    return tuple(said)


def _text(log: Path) -> str:
    previous = log.with_suffix(f"{PREVIOUS}.log")
    return "".join(one.read_text(errors="replace") for one in (previous, log) if one.exists())
