"""Creates, starts, stops and removes the simulated clusters of a stack, together with its Pulumi state."""

import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from inferfleet.documents.documents import Documents
from inferfleet.tables.addons import AddonName
from sandbox.cluster import companions, podnet, ports
from sandbox.cluster.definitions import define, serve_schema
from sandbox.cluster.kubeconfig import write_kubeconfig
from sandbox.cluster.kwok import SCRATCH, KwokCluster
from sandbox.cluster.kwok_stages import KILL
from sandbox.cluster.populate import populate
from sandbox.devices import compute_domains
from sandbox.devices.published import has_channels
from sandbox.front_door import installation as front_door
from sandbox.gcp import access, lifecycle
from sandbox.gcp.nodes.kwok_kubernetes import kwok_name
from sandbox.gcp.store import Store
from sandbox.gcp.store import clusters as clusters_of_cloud
from sandbox.inotify import instances, of_cluster
from sandbox.istio import control_plane
from sandbox.locking import locked
from sandbox.lws import installation
from sandbox.network.obstacles import Obstacle, obstacle
from sandbox.network.pod_network import has_namespace
from sandbox.passphrase import forget
from sandbox.placement_lock import forget_clusters
from sandbox.places import StackPlaces
from sandbox.plans import ClusterPlan, cluster_plans, has_workers_of_many_pods, parts_for
from sandbox.private import owner_only
from sandbox.problem import SandboxProblem
from sandbox.processes import end_processes, processes_in
from sandbox.pulumi_state import prepare_pulumi, resources_of
from sandbox.rendering import manages, manages_addons, render_missing
from sandbox.toolchain.parts import HELM, ISTIO, LWS
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.tools import Tools, make_tools
from sandbox.vllm import forks

# How names of files with definitions begin, by the add-on that has them.
_DEFINED: Mapping[AddonName, str] = {
    "gatewayAPI": "gateway",
    "inferenceExtension": "inference.networking.k8s.io",
    "leaderWorkerSet": "leaderworkerset",
}


def up(
    root: Path,
    stack: str,
    documents: Documents,
    *,
    progress: Progress | None = None,
    begin: Callable[[], None] = lambda: None,
    with_vllm: bool = False,
) -> Tools:
    """Make every simulated cluster of the stack run as its documents say, and prepare Pulumi for it.

    Creates what is missing, starts what is stopped and repairs what an interrupted run left. `begin` is
    called before the toolchain is made, where that takes minutes. Pods whose engine is vLLM get it
    `with_vllm` from then on, until `down`, and a stand-in else. Raises SandboxProblem for a cluster whose
    data is gone while the Pulumi state holds objects on it, because a new one lacks them.
    """
    progress = progress or Progress()
    places = StackPlaces(root, stack)
    plans = cluster_plans(places, documents)
    with_cloud = lifecycle.needs_cloud(places, documents)
    if not plans and not with_cloud:
        raise SandboxProblem(
            f"stack {stack} has no cluster to simulate. Give a cluster of source Existing a kubeconfig "
            f"path in {places.folder}, relative to its document, or write a cluster of source GKE."
        )
    with locked(places.lock, waiting=_waiting(places, progress)), owner_only():
        places.folder.mkdir(parents=True, exist_ok=True)
        _refuse_old_state(places, plans)
        _refuse_too_few_instances(places, plans, documents)
        lifecycle.refuse_busy(places)
        why = obstacle()
        before = _made_without_network(places, plans)
        for_istio = [] if why else _for_istio(places, (plan for plan in plans if plan.name not in before))
        has_istio = any(control_plane.installed(cluster) for cluster in for_istio)
        extra = [*parts_for(documents), *([ISTIO] if has_istio else [])]
        extra += [LWS] if installation.wanted(places) else []
        extra += [HELM] if manages_addons(documents) else []
        extra += [ISTIO] if manages("istio", documents) else []
        # An answer is worth more than the right controller, which takes minutes to build.
        spare = [ISTIO] if for_istio and not has_istio else []
        # It is read into memory while the rest begins.
        with_vllm = with_vllm or forks.wanted(places)
        if with_vllm:
            forks.begin(places, progress)
        tools = make_tools(progress, extra, spare=spare, begin=begin)
        with_istio = {cluster.name for cluster in for_istio if tools.has(ISTIO)}
        places.kwok.mkdir(exist_ok=True)
        _remove_leftovers(places, plans, progress)
        if has_workers_of_many_pods(documents) and not manages("leaderWorkerSet", documents):
            installation.want(places)
        if manages_addons(documents):
            render_missing(root, stack, tools, progress)
        with progress.step("pulumi home", "preparing Pulumi"):
            prepare_pulumi(places, tools)
        if with_cloud:
            with progress.step("cloud", "simulated Google Cloud"):
                lifecycle.start_cloud(places, tools)
        if before and why is None:
            progress.say(_made_anew(stack, before))
        if for_istio and not with_istio:
            progress.say(_without_istio(stack, [cluster.name for cluster in for_istio]))
        if closed := without_own_networks(plans, allowed=why is None and os.geteuid() == 0):
            progress.say(closed)
        if plans:
            _up(places, plans, tools, progress, why, with_istio)
        if with_vllm:
            with progress.step("vllm", "reading vLLM into memory"):
                forks.await_ready(places)
    return tools


def _up(
    places: StackPlaces,
    plans: tuple[ClusterPlan, ...],
    tools: Tools,
    progress: Progress,
    why: Obstacle | None,
    with_istio: set[str],
) -> None:
    names = ", ".join(plan.name for plan in plans)
    if why is not None:
        progress.say(f"{why}. Until then pods have loopback addresses, and the built-in gateway serves them.")
    with progress.step("clusters", f"starting clusters {names}"):
        _each(plans, lambda plan: _run(places, plan, tools, namespaced=why is None))
    with progress.step("nodes", "nodes, CRDs and GatewayClasses"):
        _each(plans, lambda plan: _populate(places, plan, tools, with_istio=plan.name in with_istio))
    with progress.step("companions", "kubelets and gateways"):
        _each(plans, lambda plan: companions.ensure_running(KwokCluster(places, plan.name), tools))


def down(root: Path, stack: str, *, progress: Progress | None = None) -> int:
    """Remove every process, file and lock entry of the stack's sandbox. Return how many processes ended."""
    progress = progress or Progress()
    places = StackPlaces(root, stack)
    with locked(places.lock, waiting=_waiting(places, progress)):
        removed, cloud = created_names(places), access.cloud_exists(places)
        ended = end_processes(places.folder)
        shutil.rmtree(places.folder, ignore_errors=True)
        if places.folder.exists():
            raise SandboxProblem(f"{places.folder} cannot be removed. Remove it yourself.")
        # Only after the folder is gone: releasing drops the reservations of all folders that are gone.
        ports.release(places.folder)
        podnet.release(places.folder)
        if not forget(places):
            kept = f"{places.settings} has secrets"
            progress.say(f"kept the passphrase of stack {stack} in {places.secrets}, because {kept}")
        for folder in (places.secrets.parent, places.folder.parent):
            if folder.exists() and not any(folder.iterdir()):
                folder.rmdir()
    forget_clusters(root, stack, removed, cloud=cloud)
    return ended


def stop(root: Path, stack: str, cluster: str) -> int:
    """Stop the cluster and keep its data, as if its network were down. Return how many processes ended."""
    return _created(StackPlaces(root, stack), cluster).stop()


def start(root: Path, stack: str, cluster: str, *, progress: Progress | None = None) -> None:
    """Start a stopped cluster with the data it had."""
    kwok = _created(StackPlaces(root, stack), cluster)
    tools = make_tools(progress or Progress())
    with owner_only():
        if kwok.condition() != "running":
            kwok.start(tools)
            serve_schema(kwok.kubectl(tools))
        companions.ensure_running(kwok, tools)


def kill(root: Path, stack: str, cluster: str, pod: str) -> None:
    """Kill the containers of a pod (namespace/name), as if they had crashed."""
    namespace, _, name = pod.partition("/")
    # The agent only compares the value with the previous one.
    mark = f"{KILL}={time.time_ns()}"
    kubectl = _created(StackPlaces(root, stack), cluster).kubectl(make_tools(Progress()))
    kubectl("annotate", "pod", name, "-n", namespace, "--overwrite", mark)


def _created(places: StackPlaces, cluster: str) -> KwokCluster:
    """Return the cluster of this name, or the only one whose name begins with it.

    Names of clusters on the simulated Google Cloud end in location and project.
    """
    created = created_names(places)
    matching = [name for name in created if name.startswith(cluster)]
    kwok = KwokCluster(places, matching[0] if len(matching) == 1 else cluster)
    if kwok.condition() == "missing":
        have = ", ".join(created) or "none"
        raise SandboxProblem(
            f"stack {places.stack} has no simulated cluster {cluster!r} (it has: {have}). "
            f"Run `inferfleet sandbox up --stack {places.stack}` to create those of its documents."
        )
    return kwok


def created_names(places: StackPlaces) -> list[str]:
    """Return the names of the clusters that have a folder, whether they run or not."""
    prefix = places.cluster_name("")
    folders = (places.kwok / "clusters").glob(f"{prefix}*")
    return sorted(folder.name.removeprefix(prefix) for folder in folders)


def _refuse_old_state(places: StackPlaces, plans: Iterable[ClusterPlan]) -> None:
    without_data = [
        f"{plan.name} ({count} resources)"
        for plan in plans
        if KwokCluster(places, plan.name).condition() == "missing"
        and (count := resources_of(places, plan.name))
    ]
    if without_data:
        raise SandboxProblem(
            f"the Pulumi state of stack {places.stack} holds resources of clusters whose data is gone: "
            f"{', '.join(without_data)}. "
            f"Run `inferfleet sandbox down --stack {places.stack}` first: it removes both."
        )


def _refuse_too_few_instances(
    places: StackPlaces, plans: Iterable[ClusterPlan], documents: Documents
) -> None:
    """Raise SandboxProblem where too few inotify instances are left for the clusters that do not run yet.

    Those of the simulated cloud are counted too, though an update starts them.
    """
    starting = [plan for plan in plans if KwokCluster(places, plan.name).condition() != "running"]
    of_cloud = sum(document.spec.cluster.source == "GKE" for document in documents.clusters.values())
    of_cloud -= sum(
        KwokCluster(places, kwok_name(record.id)).condition() == "running"
        for record in clusters_of_cloud(Store(places.cloud).read())
    )
    needs = [of_cluster(istio=plan.wants_istio or "istio" in plan.addons) for plan in starting] + [
        of_cluster()
    ] * max(0, of_cloud)
    what = f"to start {len(needs)} {'cluster' if len(needs) == 1 else 'clusters'}, stack {places.stack}"
    instances().refuse_too_few(sum(needs), what)


def _remove_leftovers(places: StackPlaces, plans: Iterable[ClusterPlan], progress: Progress) -> None:
    """End processes of interrupted runs, and remove clusters that are in neither documents nor state."""
    # This process holds the stack's lock, so nobody waits for a kwokctl of the stack that still runs.
    end_processes(places.kwok / SCRATCH)
    records = Store(places.cloud).read()
    wanted = {plan.name for plan in plans} | {kwok_name(cluster.id) for cluster in clusters_of_cloud(records)}
    for name in created_names(places):
        kwok = KwokCluster(places, name)
        broken = kwok.condition() == "missing"
        if broken or (name not in wanted and not resources_of(places, name)):
            kwok.delete()
            if not broken:
                progress.say(f"removed cluster {name}: it is no longer in the documents")
                (places.folder / f"{name}.kubeconfig").unlink(missing_ok=True)
    known = {places.cluster_folder(name) for name in created_names(places)}
    for process in processes_in(places.kwok / "clusters"):
        if not known & set(process.program.parents):
            end_processes(process.program.parent)


def _made_without_network(places: StackPlaces, plans: Iterable[ClusterPlan]) -> list[str]:
    """Return the names of clusters that were made where no network namespace could be: it is for always."""
    made = [KwokCluster(places, plan.name) for plan in plans]
    return [kwok.name for kwok in made if kwok.condition() != "missing" and not has_namespace(kwok.folder)]


def _made_anew(stack: str, names: Iterable[str]) -> str:
    return (
        f"clusters made before this machine let them have a network namespace: {', '.join(names)}. Their "
        "pods keep loopback addresses, and the built-in gateway serves them. For Istio and addresses of pods "
        f"run `make down STACK={stack}`, then `make up STACK={stack}`: what runs in them ends"
    )


def _for_istio(places: StackPlaces, plans: Iterable[ClusterPlan]) -> list[KwokCluster]:
    """Return the clusters that Istio is to run beside, but those that began with the built-in gateway."""
    wanting = [KwokCluster(places, plan.name) for plan in plans if plan.wants_istio]
    return [cluster for cluster in wanting if not control_plane.left_out(cluster)]


def without_own_networks(plans: Iterable[ClusterPlan], *, allowed: bool) -> str:
    """Return what to say of clusters whose InferenceGateways cannot run, "" where all can."""
    names = [plan.name for plan in plans if plan.front_doors]
    if allowed or not names:
        return ""
    return (
        f"pods of InferenceGateways have networks of their own, which root alone may make here: those on "
        f"{', '.join(names)} do not start, and an update waits for their addresses until it gives up. Run "
        "`inferfleet sandbox down` and all of it again as root"
    )


def _without_istio(stack: str, names: Iterable[str]) -> str:
    return (
        f"Istio cannot be fetched, and to build it takes {ISTIO.minutes} min on two cores. So the built-in "
        f"gateway serves {', '.join(names)}, with a real Envoy too, for as long as they stand. For Istio run "
        f"`inferfleet sandbox toolchain`, then `make down STACK={stack}` and `make up STACK={stack}`"
    )


def _run(places: StackPlaces, plan: ClusterPlan, tools: Tools, *, namespaced: bool) -> None:
    kwok = KwokCluster(places, plan.name)
    condition = kwok.condition()
    if condition == "missing":
        kwok.create(tools, crds=_crds(places, tools, plan), namespaced=namespaced)
        write_kubeconfig(kwok, plan.kubeconfig, context=plan.context)
    elif condition == "stopped":
        kwok.start(tools)
    if not plan.kubeconfig.exists():
        write_kubeconfig(kwok, plan.kubeconfig, context=plan.context)


def _populate(places: StackPlaces, plan: ClusterPlan, tools: Tools, *, with_istio: bool) -> None:
    kwok = KwokCluster(places, plan.name)
    kubectl = kwok.kubectl(tools)
    define(kwok, kubectl, _crds(places, tools, plan))
    installation.install(kwok, kubectl, tools)
    # Istio needs pods with addresses that EndpointSlices may have; elsewhere the built-in gateway does.
    if with_istio:
        control_plane.install(kwok, kubectl, tools)
    elif plan.wants_istio and has_namespace(kwok.folder):
        control_plane.leave_out(kwok)
    # Its programs have networks of their own, which are made inside of that of the cluster's pods.
    if plan.front_doors and has_namespace(kwok.folder):
        front_door.prepare(kwok, _ways(places, plan), plan.envoy_gateway)
        if "envoyGateway" not in plan.addons:
            front_door.install(kwok, kubectl, tools, classes=plan.front_doors, needed=plan.envoy_gateway)
    populate(
        kubectl,
        podnet.network(kwok.folder),
        nodes=plan.nodes,
        classes=_classes(plan, with_istio=with_istio),
        devices=plan.devices,
    )


def _classes(plan: ClusterPlan, *, with_istio: bool) -> tuple[str, ...] | None:
    """Return the GatewayClasses that the built-in gateway serves; None where the stack defines their kind."""
    if "gatewayAPI" in plan.addons:
        return None
    return () if with_istio or "istio" in plan.addons else plan.gateway_classes


def _crds(places: StackPlaces, tools: Tools, plan: ClusterPlan) -> tuple[Path, ...]:
    channels = (compute_domains.CRD,) if has_channels(plan.devices) else ()
    istio = tools.istio_crds if plan.istio and "istio" not in plan.addons else ()
    installed = tuple(prefix for addon, prefix in _DEFINED.items() if addon in plan.addons)
    provided = tuple(file for file in tools.crds if not file.name.startswith(installed))
    doors = front_door.crds(tools) if plan.front_doors and "envoyGateway" not in plan.addons else ()
    return (*provided, *installation.crds(places, tools), *channels, *istio, *doors)


def _ways(places: StackPlaces, plan: ClusterPlan) -> tuple[front_door.Way, ...]:
    """Return the ways from a cluster to the gateways of others, at addresses where no pods are."""
    return tuple(
        front_door.Way(host, f"10.0.0.{100 + number}", port, str(places.cluster_folder(cluster)))
        for number, (host, port, cluster) in enumerate(plan.ways)
    )


def _each(plans: tuple[ClusterPlan, ...], work: Callable[[ClusterPlan], None]) -> None:
    """Work on all clusters at once. Raise the first problem after all of them have ended."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        for done in [pool.submit(work, plan) for plan in plans]:
            done.result()


def _waiting(places: StackPlaces, progress: Progress) -> Callable[[str], None]:
    return lambda pid: progress.say(
        f"process {pid} is working on the sandbox of stack {places.stack}; waiting for it"
    )
