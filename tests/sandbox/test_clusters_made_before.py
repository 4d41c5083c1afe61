"""A cluster has a network namespace from its creation on, or never."""

from pathlib import Path

import pytest

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.settings import Settings
from sandbox import clusters
from sandbox.cluster.kwok import COMPLETE, KwokCluster
from sandbox.istio import control_plane
from sandbox.network import pod_network
from sandbox.places import StackPlaces
from sandbox.plans import ClusterPlan
from sandbox.toolchain.parts import ISTIO, Part
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.resolve import Resolved
from sandbox.toolchain.tools import Tools


class Questions(Exception):  # noqa: N818 (it ends the command once it has asked for its tools)
    """What `up` asked of the toolchain: parts that must be there, and parts that may."""


class Said(Progress):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def _plan(name: str) -> ClusterPlan:
    return ClusterPlan(name, Path(f"{name}.kubeconfig"), name, (), ("istio",), istio=True)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StackPlaces:
    """A stack with cluster `old`, made without a namespace, `new`, made with one, and `none`, not made."""
    places = StackPlaces(tmp_path, "local")
    for name in ("old", "new"):
        cluster = KwokCluster(places, name)
        cluster.folder.mkdir(parents=True)
        (cluster.folder / COMPLETE).touch()
    pod_network.give(KwokCluster(places, "new").folder)
    monkeypatch.setattr(clusters, "obstacle", lambda: None)
    return places


@pytest.mark.parametrize(("names", "istio"), [(("old",), False), (("old", "new"), True), (("none",), True)])
def test_istio_is_made_for_clusters_with_a_network_alone(
    places: StackPlaces, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], istio: bool
) -> None:
    def make_tools(_: Progress, extra: list[Part], *, spare: list[Part], begin: object) -> None:
        raise Questions([part.name for part in extra], [part.name for part in spare])

    monkeypatch.setattr(clusters, "make_tools", make_tools)
    monkeypatch.setattr(clusters, "cluster_plans", lambda *_: tuple(_plan(name) for name in names))
    with pytest.raises(Questions) as asked:
        clusters.up(places.root, places.stack, Documents(Settings(stack="local")), progress=Said())
    assert asked.value.args == ([], ["istio"] if istio else [])


def test_a_cluster_with_istio_needs_it_and_one_that_began_without_keeps_the_built_in_gateway(
    places: StackPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make_tools(_: Progress, extra: list[Part], *, spare: list[Part], begin: object) -> None:
        raise Questions([part.name for part in extra], [part.name for part in spare])

    monkeypatch.setattr(clusters, "make_tools", make_tools)
    monkeypatch.setattr(clusters, "cluster_plans", lambda *_: (_plan("new"),))
    new = KwokCluster(places, "new")
    monkeypatch.setattr(control_plane, "installed", lambda cluster: cluster == new)
    for asks in ((["istio"], []), ([], [])):
        with pytest.raises(Questions) as asked:
            clusters.up(places.root, places.stack, Documents(Settings(stack="local")), progress=Said())
        assert asked.value.args == asks
        control_plane.leave_out(new)


def test_clusters_without_istio_are_named_with_the_way_to_it(
    places: StackPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_remove_leftovers", "prepare_pulumi", "_up"):
        monkeypatch.setattr(clusters, name, lambda *_, **__: None)
    monkeypatch.setattr(clusters, "make_tools", lambda *_, **__: Tools((), ""))
    monkeypatch.setattr(clusters, "cluster_plans", lambda *_: (_plan("new"), _plan("none")))
    said = Said()
    clusters.up(places.root, places.stack, Documents(Settings(stack="local")), progress=said)
    assert [line for line in said.lines if "Pulumi" not in line] == [
        "Istio cannot be fetched, and to build it takes 6 min on two cores. So the built-in gateway serves "
        "new, none, with a real Envoy too, for as long as they stand. For Istio run `inferfleet sandbox "
        "toolchain`, then `make down STACK=local` and `make up STACK=local`"
    ]


def test_clusters_made_before_are_named_with_the_way_to_new_ones(
    places: StackPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_remove_leftovers", "prepare_pulumi", "_up"):
        monkeypatch.setattr(clusters, name, lambda *_, **__: None)
    there = Tools((Resolved(ISTIO, "cache", Path("istio")),), "")
    monkeypatch.setattr(clusters, "make_tools", lambda *_, **__: there)
    monkeypatch.setattr(clusters, "cluster_plans", lambda *_: (_plan("old"), _plan("new"), _plan("none")))
    said = Said()
    clusters.up(places.root, places.stack, Documents(Settings(stack="local")), progress=said)
    assert [line for line in said.lines if "Pulumi" not in line] == [
        "clusters made before this machine let them have a network namespace: old. Their pods keep loopback "
        "addresses, and the built-in gateway serves them. For Istio and addresses of pods run "
        "`make down STACK=local`, then `make up STACK=local`: what runs in them ends"
    ]
