"""Brings the simulated clusters of a stack up and down. Clusters and Pulumi state live and die together."""

import shutil
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from inferfleet.api.documents import Documents
from sandbox.cluster import companions, podnet, ports
from sandbox.cluster.definitions import define
from sandbox.cluster.furnish import furnish
from sandbox.cluster.kubeconfig import write_kubeconfig
from sandbox.cluster.kwok import SCRATCH, KwokCluster
from sandbox.cluster.stages import KILL
from sandbox.gcp import access, lifecycle
from sandbox.gcp.nodes.kwok_kubernetes import kwok_name
from sandbox.gcp.store import Store
from sandbox.gcp.store import clusters as clusters_of_cloud
from sandbox.locking import locked
from sandbox.memory import forget
from sandbox.places import StackPlaces
from sandbox.plans import ClusterPlan, cluster_plans
from sandbox.problem import SandboxProblem
from sandbox.processes import end_processes, processes_in
from sandbox.pulumi_state import prepare_pulumi, resources_of
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.tools import Tools, make_tools


def up(root: Path, stack: str, documents: Documents, *, progress: Progress | None = None) -> Tools:
    """Every simulated cluster of the stack runs as its documents say, and Pulumi can work on it.

    Creates what is missing, starts what is stopped, mends what a broken run left. A cluster whose data is
    gone is not built again while the state speaks of objects on it: they would all be missing there.
    """
    progress = progress or Progress()
    places = StackPlaces(root, stack)
    plans = cluster_plans(places, documents)
    with_cloud = lifecycle.needs_cloud(places, documents)
    if not plans and not with_cloud:
        raise SandboxProblem(
            f"stack {stack} has no cluster for the sandbox. Give an Existing cluster the kubeconfig path "
            f"of a file in {places.folder}, seen from its document, or write one with source GKE."
        )
    with locked(places.lock, waiting=_waiting(places, progress)):
        _refuse_old_state(places, plans)
        lifecycle.refuse_busy(places)
        tools = make_tools(progress)
        places.kwok.mkdir(parents=True, exist_ok=True, mode=0o700)
        _clear_away(places, plans, progress)
        with progress.step("pulumi home", "preparing Pulumi"):
            prepare_pulumi(places, tools)
        if with_cloud:
            with progress.step("cloud", "simulated Google Cloud"):
                lifecycle.start_cloud(places, tools)
        if plans:
            _up(places, plans, tools, progress)
    return tools


def _up(places: StackPlaces, plans: tuple[ClusterPlan, ...], tools: Tools, progress: Progress) -> None:
    names = ", ".join(plan.name for plan in plans)
    with progress.step("clusters", f"starting clusters {names}"):
        _each(plans, lambda plan: _run(places, plan, tools))
    with progress.step("nodes", "nodes, CRDs and GatewayClasses"):
        _each(plans, lambda plan: _furnish(places, plan, tools))
    with progress.step("companions", "kubelets and gateways"):
        _each(plans, lambda plan: companions.mend(KwokCluster(places, plan.name), tools))


def down(root: Path, stack: str, *, progress: Progress | None = None) -> int:
    """No process, file or memory of the stack's sandbox is left. Returns how many processes ended."""
    progress = progress or Progress()
    places = StackPlaces(root, stack)
    with locked(places.lock, waiting=_waiting(places, progress)):
        gone, cloud = created_names(places), access.cloud_exists(places)
        ended = end_processes(places.folder)
        shutil.rmtree(places.folder, ignore_errors=True)
        if places.folder.exists():
            raise SandboxProblem(f"{places.folder} cannot be removed. Remove it yourself.")
        # After the folder: reservations of folders that are gone are dropped.
        ports.release(places.folder)
        podnet.release(places.folder)
        if places.folder.parent.exists() and not any(places.folder.parent.iterdir()):
            places.folder.parent.rmdir()
    forget(root, stack, gone, cloud=cloud)
    return ended


def stop(root: Path, stack: str, cluster: str) -> int:
    """The cluster answers no more, as if its network were gone; its data stays. Returns its processes."""
    return _created(StackPlaces(root, stack), cluster).stop()


def start(root: Path, stack: str, cluster: str, *, progress: Progress | None = None) -> None:
    """A stopped cluster answers again, with the data it had."""
    kwok = _created(StackPlaces(root, stack), cluster)
    tools = make_tools(progress or Progress())
    if kwok.condition() != "running":
        kwok.start(tools)
    companions.mend(kwok, tools)


def kill(root: Path, stack: str, cluster: str, pod: str) -> None:
    """The containers of a pod (namespace/name) end without a warning, as if they had crashed."""
    namespace, _, name = pod.partition("/")
    # The agent looks only whether the text is another one.
    mark = f"{KILL}={time.time_ns()}"
    kubectl = _created(StackPlaces(root, stack), cluster).kubectl(make_tools(Progress()))
    kubectl("annotate", "pod", name, "-n", namespace, "--overwrite", mark)


def _created(places: StackPlaces, cluster: str) -> KwokCluster:
    """By its name, or how the name of just one begins: those of Google's end in location and project."""
    begins = [name for name in created_names(places) if name.startswith(cluster)]
    kwok = KwokCluster(places, begins[0] if len(begins) == 1 else cluster)
    if kwok.condition() == "missing":
        have = ", ".join(created_names(places)) or "none"
        raise SandboxProblem(
            f"stack {places.stack} has no simulated cluster {cluster!r} (it has: {have}). "
            "`inferfleet sandbox up` makes those of its documents."
        )
    return kwok


def created_names(places: StackPlaces) -> list[str]:
    """The clusters that have a folder, whatever its condition."""
    prefix = places.cluster_name("")
    folders = (places.kwok / "clusters").glob(f"{prefix}*")
    return sorted(folder.name.removeprefix(prefix) for folder in folders)


def _refuse_old_state(places: StackPlaces, plans: Iterable[ClusterPlan]) -> None:
    lost = [
        f"{plan.name} ({count} resources)"
        for plan in plans
        if KwokCluster(places, plan.name).condition() == "missing"
        and (count := resources_of(places, plan.name))
    ]
    if lost:
        raise SandboxProblem(
            f"the Pulumi state of stack {places.stack} holds resources of clusters whose data is gone: "
            f"{', '.join(lost)}. Run `inferfleet sandbox down --stack {places.stack}` first: it removes both."
        )


def _clear_away(places: StackPlaces, plans: Iterable[ClusterPlan], progress: Progress) -> None:
    """Ends what nobody needs: the rest of broken runs, and clusters that have left documents and state."""
    # This process holds the stack's lock, so no kwokctl of the stack has a caller any more.
    end_processes(places.kwok / SCRATCH)
    records = Store(places.cloud).read()
    wanted = {plan.name for plan in plans} | {kwok_name(one.id) for one in clusters_of_cloud(records)}
    for name in created_names(places):
        kwok = KwokCluster(places, name)
        broken = kwok.condition() == "missing"
        if broken or (name not in wanted and not resources_of(places, name)):
            kwok.delete()
            if not broken:
                progress.say(f"cluster {name} is in no document any more: removed")
                (places.folder / f"{name}.kubeconfig").unlink(missing_ok=True)
    known = {places.cluster_folder(name) for name in created_names(places)}
    for process in processes_in(places.kwok / "clusters"):
        if not known & set(process.program.parents):
            end_processes(process.program.parent)


def _run(places: StackPlaces, plan: ClusterPlan, tools: Tools) -> None:
    kwok = KwokCluster(places, plan.name)
    condition = kwok.condition()
    if condition == "missing":
        kwok.create(tools, crds=tools.crds)
        write_kubeconfig(kwok, plan.kubeconfig, context=plan.context)
    elif condition == "stopped":
        kwok.start(tools)
    if not plan.kubeconfig.exists():
        write_kubeconfig(kwok, plan.kubeconfig, context=plan.context)


def _furnish(places: StackPlaces, plan: ClusterPlan, tools: Tools) -> None:
    kwok = KwokCluster(places, plan.name)
    define(kwok, kwok.kubectl(tools), tools.crds)
    furnish(plan, kwok.kubectl(tools), podnet.network(kwok.folder))


def _each(plans: tuple[ClusterPlan, ...], work: Callable[[ClusterPlan], None]) -> None:
    """At once for all clusters; the first problem counts, after the others came to their end."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        for done in [pool.submit(work, plan) for plan in plans]:
            done.result()


def _waiting(places: StackPlaces, progress: Progress) -> Callable[[str], None]:
    return lambda pid: progress.say(
        f"process {pid} works on the sandbox of stack {places.stack}; waiting for it"
    )
