"""Fleet in somebody's program: what it waits for, what it registers under which names, what comes back."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from fleet_of_one import (
    CLASS,
    CLUSTER_FROM_PROGRAM,
    DEPLOYMENT,
    GKE_FROM_PROGRAM,
    SERVICE,
    UID,
    together,
)
from recorded_project import KUBECONFIG, OTHER_UID, Clusters
from recording import Monitor, Recorder, confirmed, own, ran

import inferfleet
from inferfleet import run
from inferfleet.clusters.preflight.observe import Observation
from inferfleet.components import fleet
from inferfleet.components.provider import NOWHERE
from inferfleet.desired.values import Standing

ROOT = Path(__file__).parents[2]
ANSWERS = {
    "acme:index:Cluster": {"kubeconfig": KUBECONFIG, "project": "acme-ml", "network": "shared"},
    "kubernetes:gateway.networking.k8s.io/v1:Gateway": {
        "status": {"addresses": [{"type": "IPAddress", "value": "10.0.0.5"}]}
    },
}
LOCK = """\
version: 1
stack: prod.{name}
clusters:
  east: {{source: Existing, uid: {uid}}}
pools:
  east/l4: {{nodes: 1}}
placements:
  ml/qwen east decode=l4: 1
services:
  ml/chat: [east]
"""


class Other(pulumi.CustomResource):
    """What the program has besides: it makes a cluster, a project or a network."""

    kubeconfig: pulumi.Output[str]
    project: pulumi.Output[str]
    network: pulumi.Output[str]

    def __init__(self) -> None:
        super().__init__("acme:index:Cluster", "dc1", dict.fromkeys(("kubeconfig", "project", "network")))


def unknown() -> pulumi.Output[str]:
    """What a preview knows of something that is not there yet."""

    async def value(of: Any) -> Any:
        return of

    return pulumi.Output(set(), value(None), value(False))


@pytest.fixture
def clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clusters:
    clusters = Clusters()
    monkeypatch.setattr(run, "observe", clusters.observe)
    monkeypatch.setattr(fleet, "confirmer", lambda *_, **__: confirmed)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Pulumi.yaml").write_text("name: acme\nruntime: python\n")
    (tmp_path / "classes").mkdir()
    (tmp_path / "classes/l4.yaml").write_text(CLASS)
    for folder in ("chat", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "fleet.yaml").write_text(together(CLUSTER_FROM_PROGRAM, DEPLOYMENT, SERVICE))
    return clusters


def registered(program: Any, *, preview: bool = False) -> tuple[Recorder, Monitor]:
    return ran(program, preview=preview, answers=ANSWERS, stack="prod")


def chat(kubeconfig: pulumi.Input[str] = KUBECONFIG, **more: Any) -> inferfleet.Fleet:
    args = inferfleet.FleetArgs(documents="chat/", kubeconfigs={"east": kubeconfig}, **more)
    return inferfleet.Fleet("chat", args)


def test_a_program_of_four_lines_gets_its_urls_and_the_cluster_comes_first(clusters: Clusters) -> None:
    def program() -> Mapping[str, Any]:
        other = Other()
        made = inferfleet.Fleet(
            "chat", inferfleet.FleetArgs(documents="chat/", kubeconfigs={"east": other.kubeconfig})
        )
        return {"chat": made.urls["ml/chat"]["east"], "gateways": made.gateways, "clusters": made.clusters}

    recorder, monitor = registered(program)
    assert recorder.outputs == {
        "chat": "http://10.0.0.5:80/ml/chat/",
        "gateways": {"east": "10.0.0.5"},
        "clusters": {"east": {"source": "Existing", "state": "active"}},
    }
    assert clusters.asked[0][1] == {"east": KUBECONFIG}
    home = ("inferfleet:components:Fleet", "chat")
    provider = monitor.requests["pulumi:providers:kubernetes", "chat/east"]
    assert own(provider.parent) == home
    assert [own(urn) for urn in provider.dependencies] == [("acme:index:Cluster", "dc1")]
    workload = ("kubernetes:apps/v1:Deployment", "chat/east/ml/qwen-decode-l4")
    assert own(monitor.requests[workload].parent)[1] == "chat/east/ml/qwen-l4"
    labels = recorder.inputs[workload]["metadata"]["labels"]
    assert labels["inferfleet.dev/stack"] == "prod.chat"
    assert Path("chat/placement.lock").read_text() == LOCK.format(name="chat", uid=UID)


def test_what_a_preview_shows_is_what_its_update_makes_although_the_cluster_is_to_come(
    clusters: Clusters,
) -> None:
    previewed, _ = registered(lambda: {"urls": chat(unknown()).urls}, preview=True)
    assert [asked.clusters for asked, _ in clusters.asked] == [()]
    updated, _ = registered(lambda: {"urls": chat().urls})
    assert previewed.inputs.keys() == updated.inputs.keys()


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        ("", "cluster 'east' is yet to come: the program knows only in the update where it is"),
        (
            LOCK.format(name="chat", uid=UID),
            "cluster 'east' was not looked at in this preview: the program knows only in the update where it",
        ),
    ],
)
def test_a_preview_says_which_cluster_it_did_not_look_at(
    clusters: Clusters, monkeypatch: pytest.MonkeyPatch, lock: str, said: str
) -> None:
    if lock:
        Path("chat/placement.lock").write_text(lock)
    told: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", told.append)
    registered(lambda: {"fleet": chat(unknown()).clusters}, preview=True)
    assert [line for line in told if said in line]


def test_an_update_that_does_not_know_a_kubeconfig_ends_before_anything_is_registered(
    clusters: Clusters,
) -> None:
    recorder = Recorder(ANSWERS)
    with pytest.raises(pulumi.RunError) as ended:
        ran(lambda: {"urls": chat(unknown()).urls}, preview=False, stack="prod", recorder=recorder)
    assert str(ended.value) == (
        "Fleet 'chat' does not know the kubeconfig of cluster 'east', because what it comes from failed, was "
        "left out or has none. So nothing of the Fleet is registered, and this update deletes nothing. Mend "
        "that and update again; where a cluster is gone, write `state: lost` or `abandoned` there"
    )
    assert (recorder.inputs, clusters.asked, Path("chat/placement.lock").exists()) == ({}, [], False)


@pytest.mark.parametrize("state", ["lost", "abandoned"])
def test_an_update_needs_no_kubeconfig_of_a_cluster_that_is_given_up(
    clusters: Clusters, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    async def nothing(_: str) -> Standing:
        return {}

    told: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", told.append)
    monkeypatch.setattr(fleet, "standing", nothing)
    lock, _, _ = LOCK.partition("placements:")
    Path("chat/placement.lock").write_text(lock.format(name="chat", uid=UID))
    given_up = CLUSTER_FROM_PROGRAM.replace("existing: {}}", f"existing: {{}}}}\n  state: {state}")
    Path("chat/fleet.yaml").write_text(given_up)
    recorder, _ = registered(lambda: {"clusters": chat(unknown()).clusters})
    assert recorder.outputs == {"clusters": {"east": {"source": "Existing", "state": state}}}
    provider = recorder.inputs["pulumi:providers:kubernetes", "chat/east"]
    assert provider["kubeconfig"]["value"] == NOWHERE
    assert [line for line in told if "the update" in line] == []


def test_a_coroutine_of_a_kubeconfig_is_awaited_once(clusters: Clusters) -> None:
    async def text() -> str:
        return KUBECONFIG

    registered(lambda: {"clusters": chat(text()).clusters})
    assert clusters.asked[0][1] == {"east": KUBECONFIG}


@pytest.mark.parametrize("preview", [True, False])
def test_an_output_of_something_else_than_text_is_named_with_its_type(
    clusters: Clusters, preview: bool
) -> None:
    def program() -> Mapping[str, Any]:
        parts: Any = pulumi.Output.from_input({"kind": "Config"})
        return {"clusters": chat(parts).clusters}

    with pytest.raises(pulumi.RunError) as refused:
        registered(program, preview=preview)
    assert str(refused.value) == (
        "kubeconfig of cluster 'east' is an Output of type dict, of which pulumi.Output.json_dumps makes "
        "text. Hand over an Output of its text"
    )


def test_an_empty_project_is_an_error_and_no_word_for_one_that_is_to_come(clusters: Clusters) -> None:
    shutil.copy(ROOT / "classes/gke-l4.yaml", "classes")
    Path("chat/fleet.yaml").write_text(GKE_FROM_PROGRAM)
    args = inferfleet.FleetArgs("chat/", projects={"cloudy": ""})
    with pytest.raises(pulumi.RunError, match="project '' must be a project ID"):
        registered(lambda: {"clusters": inferfleet.Fleet("chat", args).clusters})


def test_a_cluster_that_the_fleet_creates_is_in_the_programs_project_and_network(
    clusters: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "cloud_problems", lambda *_, **__: ())
    shutil.copy(ROOT / "classes/gke-l4.yaml", "classes")
    Path("chat/fleet.yaml").write_text(GKE_FROM_PROGRAM)

    def cloudy(project: pulumi.Input[str], network: pulumi.Input[str]) -> Mapping[str, Any]:
        ranges = {"name": network, "subnetwork": "nodes", "podsRange": "pods", "servicesRange": "services"}
        args = inferfleet.FleetArgs("chat/", projects={"cloudy": project}, networks={"cloudy": ranges})
        return {"clusters": inferfleet.Fleet("chat", args).clusters}

    def made() -> Mapping[str, Any]:
        other = Other()
        return cloudy(other.project, other.network)

    updated, monitor = registered(made)
    cluster = ("gcp:container/cluster:Cluster", "chat/cloudy")
    assert updated.inputs[cluster]["network"] == "projects/acme-ml/global/networks/shared"
    assert ("acme:index:Cluster", "dc1") in [own(urn) for urn in monitor.requests[cluster].dependencies]
    # A preview that does not know them shows no other cluster: the lock knows what it was made with.
    previewed, _ = registered(lambda: cloudy(unknown(), unknown()), preview=True)
    assert previewed.inputs[cluster] == updated.inputs[cluster]


def test_the_program_goes_on_while_clusters_are_asked(
    clusters: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def other() -> str:
        return "done"

    def observe(*_: Any, **__: Any) -> Observation:
        assert asyncio.run_coroutine_threadsafe(other(), loops[0]).result(timeout=60) == "done"
        return Observation(uids={"east": UID})

    def program() -> Mapping[str, Any]:
        loops.append(asyncio.get_running_loop())
        return {"placements": chat().placements}

    monkeypatch.setattr(run, "observe", observe)
    recorder, _ = registered(program)
    assert recorder.outputs == {"placements": {"ml/qwen": {"east decode=l4": 1}}}


def test_a_defect_ends_the_program_and_never_lets_it_wait_for_ever(
    clusters: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepare(*_: Any, **__: Any) -> None:
        raise StopIteration

    monkeypatch.setattr(fleet, "prepare", prepare)
    with pytest.raises(RuntimeError, match="a defect of inferfleet"):
        registered(lambda: {"placements": chat().placements})


def test_a_cluster_belongs_to_one_fleet(clusters: Clusters) -> None:
    def program() -> Mapping[str, Any]:
        chat()
        args = inferfleet.FleetArgs(documents="other/", kubeconfigs={"east": KUBECONFIG})
        inferfleet.Fleet("other", args)
        return {}

    with pytest.raises(pulumi.RunError) as refused:
        registered(program)
    assert str(refused.value) == (
        "Fleet 'other': cluster east belongs to Fleet 'chat' already, and to one alone. Remove it from one "
        "of the two"
    )


def test_no_fleet_is_named_like_a_cluster_of_the_stacks_own(clusters: Clusters) -> None:
    """The state tells what is of which Fleet by the beginnings of names alone."""

    def own_fleet() -> None:
        args = inferfleet.FleetArgs(documents="chat/", kubeconfigs={"east": KUBECONFIG})
        inferfleet.Fleet("prod", args)

    def named_east() -> None:
        inferfleet.Fleet("east", inferfleet.FleetArgs(documents="other/", kubeconfigs={"west": KUBECONFIG}))

    def both(order: Iterable[Callable[[], None]]) -> Mapping[str, Any]:
        for make in order:
            make()
        return {}

    Path("other/fleet.yaml").write_text(
        together(CLUSTER_FROM_PROGRAM.replace("east", "west"), DEPLOYMENT, SERVICE)
    )
    for order, refuses, has in (
        ((own_fleet, named_east), "east", "prod"),
        ((named_east, own_fleet), "prod", "east"),
    ):
        with pytest.raises(pulumi.RunError) as refused:
            registered(partial(both, order))
        assert str(refused.value) == (
            f"Fleet {refuses!r}: the prefix east/ of names belongs to Fleet {has!r} already, and to one "
            "alone. Rename the cluster of that name, or the Fleet"
        )


@pytest.mark.parametrize("uid", [UID, OTHER_UID])
def test_two_fleets_live_in_one_program_unless_their_clusters_are_the_same(
    clusters: Clusters, monkeypatch: pytest.MonkeyPatch, uid: str
) -> None:
    Path("other/fleet.yaml").write_text(
        together(CLUSTER_FROM_PROGRAM.replace("east", "west"), DEPLOYMENT, SERVICE)
    )
    uids = {"east": UID, "west": uid}
    monkeypatch.setattr(run, "observe", lambda *_, **__: Observation(uids=uids))

    def program() -> Mapping[str, Any]:
        args = inferfleet.FleetArgs(documents="other/", kubeconfigs={"west": KUBECONFIG})
        return {"east": chat().urls["ml/chat"], "west": inferfleet.Fleet("other", args).urls["ml/chat"]}

    if uid == UID:
        with pytest.raises(pulumi.RunError) as refused:
            registered(program)
        assert str(refused.value) == (
            "cluster east of Fleet 'chat' and cluster west of Fleet 'other' are one cluster with UID "
            f"{UID}. Remove it from one of the two"
        )
        return
    recorder, _ = registered(program)
    assert recorder.outputs == {
        "east": {"east": "http://10.0.0.5:80/ml/chat/"},
        "west": {"west": "http://10.0.0.5:80/ml/chat/"},
    }
    names = {name.partition("/")[0] for kind, name in recorder.inputs if kind.startswith("kubernetes:")}
    assert names == {"chat", "other"}


def test_the_fleet_that_has_the_name_of_the_stack_adds_nothing_to_names(clusters: Clusters) -> None:
    def program() -> Mapping[str, Any]:
        args = inferfleet.FleetArgs(documents="chat/", kubeconfigs={"east": KUBECONFIG})
        return {"placements": inferfleet.Fleet("prod", args).placements}

    recorder, _ = registered(program)
    workload = recorder.inputs["kubernetes:apps/v1:Deployment", "east/ml/qwen-decode-l4"]
    assert workload["metadata"]["labels"]["inferfleet.dev/stack"] == "prod"
    assert recorder.outputs == {"placements": {"ml/qwen": {"east decode=l4": 1}}}


def test_documents_may_be_a_list_with_a_lock_and_settings(clusters: Clusters) -> None:
    documents = list(yaml.safe_load_all(together(CLUSTER_FROM_PROGRAM, DEPLOYMENT, SERVICE)))

    def program() -> Mapping[str, Any]:
        args = inferfleet.FleetArgs(
            documents=documents,
            lock="chat.lock",
            settings={"await": "applied", "secrets": {"ml/token": {"key": "s3cr3t"}}},
            kubeconfigs={"east": KUBECONFIG},
        )
        return {"placements": inferfleet.Fleet("chat", args).placements}

    recorder, _ = registered(program)
    assert Path("chat.lock").read_text() == LOCK.format(name="chat", uid=UID)
    annotations = recorder.inputs["kubernetes:apps/v1:Deployment", "chat/east/ml/qwen-decode-l4"]["metadata"]
    assert annotations["annotations"]["pulumi.com/skipAwait"] == "true"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            {"documents": [{}]},
            "Fleet 'chat' has a list of documents and no lock. Name a file: lock='prod.lock'",
        ),
        ({"documents": "nowhere/"}, "does not exist"),
        ({"documents": [{"kind": "ModelDeployment"}], "lock": "x.lock"}, "documents[0]"),
        ({"documents": "chat/", "kubeconfigs": {"est": KUBECONFIG}}, "a kubeconfig of cluster est"),
        ({"documents": "chat/"}, "its kubeconfig is not in its document, and no program hands it over"),
        (
            {"documents": "chat/", "kubeconfigs": {"east": Path("east.kubeconfig")}},
            "kubeconfig of cluster 'east' is of type PosixPath. Hand over its text, or an Output of it",
        ),
        (
            {"documents": "chat/", "kubeconfigs": {"east": {"kind": "Config"}}},
            "kubeconfig of cluster 'east' is of type dict, of which pulumi.Output.json_dumps makes text. "
            "Hand over its text, or an Output of it",
        ),
        (
            {"documents": "chat/", "kubeconfigs": {"east": None}},
            "kubeconfig of cluster 'east' is of type NoneType. Hand over its text, or an Output of it",
        ),
        ({"documents": "chat/", "networks": {"east": {"id": "a"}}}, "networks['east'] has no field 'id'"),
        (
            {"documents": "chat/", "kubeconfigs": {"east": KUBECONFIG}, "projects": {"east": "acme-ml"}},
            "'project of cluster east in the program' leads to no field: the document has no "
            "spec.cluster.gke. Remove cluster east from projects: only a cluster of source GKE has",
        ),
        (
            {
                "documents": [yaml.safe_load(GKE_FROM_PROGRAM.replace(", network: {existing: {}}", ""))],
                "lock": "x.lock",
            }
            | {"projects": {"cloudy": "acme-ml"}, "networks": {"cloudy": {"name": "shared"}}},
            "'network.name of cluster cloudy in the program' leads to no field: the document has no "
            "spec.cluster.gke.network.existing. Write network: {existing: {}} below gke",
        ),
        ({"documents": "chat/", "settings": {"objectiv": "cost"}}, "objectiv"),
    ],
)
def test_what_is_wrong_with_its_arguments_is_said(
    clusters: Clusters, args: dict[str, Any], said: str
) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        registered(lambda: {"urls": inferfleet.Fleet("chat", inferfleet.FleetArgs(**args)).urls})
    assert said in str(refused.value)


@pytest.mark.parametrize("place", ["documents", "settings"])
def test_all_else_must_be_known(clusters: Clusters, place: str) -> None:
    def program() -> Mapping[str, Any]:
        later: Any = {"await": unknown()}
        args = {"documents": [later] if place == "documents" else "chat/", "lock": "x.lock"}
        return {"f": inferfleet.Fleet("chat", inferfleet.FleetArgs(**args | {"settings": later})).urls}

    with pytest.raises(pulumi.RunError, match=rf"^{place}.*is an Output, and must be known"):
        registered(program)


def test_importing_the_package_imports_no_pulumi() -> None:
    told = "print('pulumi' in sys.modules)"
    code = f"import inferfleet, sys; {told}; inferfleet.Fleet; {told}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
