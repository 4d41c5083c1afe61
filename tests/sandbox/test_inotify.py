"""The sandbox knows how many inotify instances the user has left, and says in time that they are too few."""

import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.settings import Settings
from sandbox import clusters
from sandbox.cluster import kwok
from sandbox.cluster.kwok import KwokCluster
from sandbox.inotify import Instances, instances, of_cluster
from sandbox.places import StackPlaces
from sandbox.plans import ClusterPlan
from sandbox.problem import SandboxProblem
from sandbox.toolchain.tools import Tools


def test_instances_are_counted_by_the_program_that_holds_them() -> None:
    program = f"holder-{os.getpid()}"  # the name by which it is called, as companions are
    code = "import ctypes; [ctypes.CDLL(None).inotify_init() for _ in range(3)]; print(flush=True); input()"
    with subprocess.Popen(
        [program, "-c", code],
        executable=sys.executable,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdout.readline()
        assert instances().held[program] == 3
        holder.stdin.close()
    assert program not in instances().held


def test_too_few_are_told_with_who_holds_the_rest_and_what_would_allow_it() -> None:
    held = {"kube-apiserver": 40, "envoy": 70, "code": 5, "kwok": 4, "istiod": 2, "dropbox": 1, "agent": 1}
    with pytest.raises(SandboxProblem) as refused:
        Instances(limit=128, held=held).refuse_too_few(16, "stack local, with clusters east and west,")
    assert str(refused.value) == (
        "stack local, with clusters east and west, needs 16 inotify instances, and you have 5 left of 128 "
        "(fs.inotify.max_user_instances). Held by your programs: envoy 70, kube-apiserver 40, code 5, "
        "kwok 4, istiod 2, others 2. End some of them, such as other sandboxes by `inferfleet sandbox down`, "
        "or raise the limit: `sudo sysctl fs.inotify.max_user_instances=139`."
    )


def test_as_many_as_are_left_are_enough() -> None:
    Instances(limit=128, held={"envoy": 123}).refuse_too_few(5, "cluster east")


def test_up_starts_nothing_with_five_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make_tools(*_: object) -> None:
        raise AssertionError("the toolchain was asked for")

    def plan(name: str, *, istio: bool) -> ClusterPlan:
        return ClusterPlan(name, tmp_path / f"{name}.kubeconfig", name, (), ("istio",), istio=istio)

    places = StackPlaces(tmp_path, "local")
    plans = (plan("east", istio=True), plan("west", istio=False))
    monkeypatch.setattr(clusters, "cluster_plans", lambda *_: plans)
    monkeypatch.setattr(clusters, "make_tools", make_tools)
    monkeypatch.setattr(clusters, "instances", lambda: Instances(limit=128, held={"envoy": 123}))
    with pytest.raises(SandboxProblem) as refused:
        clusters.up(tmp_path, "local", Documents(Settings(stack="local")))
    needed = of_cluster() + of_cluster(istio=True)
    assert str(refused.value) == (
        f"to start 2 clusters, stack local needs {needed} inotify instances, and you have 5 left of 128 "
        "(fs.inotify.max_user_instances). Held by your programs: envoy 123. End some of them, such as other "
        "sandboxes by `inferfleet sandbox down`, or raise the limit: "
        f"`sudo sysctl fs.inotify.max_user_instances={123 + needed}`."
    )
    assert not places.kwok.exists()


def test_a_cluster_of_the_cloud_starts_no_program_with_five_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kwok, "instances", lambda: Instances(limit=128, held={"envoy": 123}))
    cluster = KwokCluster(StackPlaces(tmp_path, "local"), "prod.europe-west4.acme")
    tools = cast(Tools, None)
    for begin in (lambda: cluster.create(tools, crds=(), namespaced=True), lambda: cluster.start(tools)):
        with pytest.raises(SandboxProblem, match=r"^to start, cluster prod\.europe-west4\.acme needs "):
            begin()
    assert not cluster.folder.exists()
