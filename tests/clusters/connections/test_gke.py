"""GKE clusters of the stack: from Google's answer to the first request to the cluster."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from certificate import Certificate
from fake_cluster import FakeCluster, thing
from fake_google import PATH, PLAN, FakeGoogle, error, running
from own_cluster import GKE, NAME, connection, desired_on, east_problem, gives, look

from inferfleet.cloud.gke.kubeconfig import kubeconfig
from inferfleet.clusters.connections.gke import NotThere, Reached, judged
from inferfleet.clusters.connections.google import ControlPlane
from inferfleet.clusters.preflight.observe import Observation
from inferfleet.documents.problems import Problem

Start = Callable[..., FakeCluster]
NOT_CHECKED = "Its objects are not checked in this run"


def test_a_cluster_that_stands_is_asked_with_the_credentials_of_googles_plugin(
    google: FakeGoogle, standing: Start
) -> None:
    fake = standing()
    desired = desired_on(thing("Namespace", "ml"), uid="uid-1")
    assert look(google, desired) == Observation(uids={"east": "uid-1"})
    assert fake.credentials == {"Bearer from-plugin"}


def test_the_plugin_is_told_the_cluster(
    google: FakeGoogle, cluster: Start, tls: Certificate, plugin: Callable[[str], Path]
) -> None:
    fake = cluster(tls=tls.context)
    google.clusters[PATH] = 200, running(fake.host, ca=tls.ca)
    received = plugin(gives("t"))
    look(google, desired_on())
    assert json.loads(received.read_text()) == {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "kind": "ExecCredential",
        "spec": {
            "interactive": False,
            "cluster": {"server": f"https://{fake.host}", "certificate-authority-data": tls.ca},
        },
    }


def test_the_certificate_of_a_dns_endpoint_is_one_that_the_system_trusts(
    google: FakeGoogle,
    cluster: Start,
    tls: Certificate,
    plugin: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    google.clusters[PATH] = 200, running(dns=cluster(tls=tls.context).host)
    plugin(gives("t"))
    refused = look(google, desired_on(endpoint="DNS")).problems
    assert ["certificate verify failed" in problem.what for problem in refused] == [True]
    monkeypatch.setenv("SSL_CERT_FILE", str(tls.file))
    assert look(google, desired_on(endpoint="DNS")) == Observation(uids={"east": "uid-1"})


def test_a_cluster_that_is_not_there_yet_is_no_problem(google: FakeGoogle) -> None:
    assert look(google, desired_on()) == Observation(absent=("east",))


def test_a_cluster_that_the_lock_remembers_and_that_is_gone_is_a_warning(google: FakeGoogle) -> None:
    warning = east_problem(
        "cluster 'east' is gone from Google Cloud (project acme, us-east5), and placement.lock has its UID",
        "If it was not `pulumi destroy`, run `pulumi refresh`, so that the state forgets its objects",
        GKE,
        severity="warning",
    )
    assert look(google, desired_on(uid="uid-1")) == Observation(problems=(warning,), absent=("east",))


@pytest.mark.parametrize("state", ["lost", "abandoned"])
def test_google_is_not_asked_about_clusters_given_up(google: FakeGoogle, state: str) -> None:
    assert (look(google, desired_on(state=state)), google.asked) == (Observation(), [])


def test_a_cluster_made_anew_under_its_name_is_refused(google: FakeGoogle, standing: Start) -> None:
    standing(uid="new")
    assert look(google, desired_on(uid="old")).problems == (
        east_problem(
            "another cluster answers under the name 'east': its kube-system has UID new, "
            "the lock remembers old",
            "If it was deleted and created again, run `pulumi refresh`, so that the state forgets the "
            "objects of the old one, and remove the uid from its line in placement.lock",
            GKE,
        ),
    )


def control_plane(status: str, host: str | None = "34.1.2.3", message: str = "") -> ControlPlane:
    return ControlPlane(status, message, host, "Q0E=", private=False)


def test_a_bastion_on_the_way_is_in_the_kubeconfig() -> None:
    plan = replace(PLAN, proxy="http://127.0.0.1:8888")
    reached = judged(control_plane("RUNNING"), connection(), plan)
    assert isinstance(reached, Reached)
    (cluster,) = json.loads(reached.kubeconfig)["clusters"]
    assert cluster["cluster"] == {
        "server": "https://34.1.2.3",
        "certificate-authority-data": "Q0E=",
        "proxy-url": "http://127.0.0.1:8888",
    }


REACHED = Reached(kubeconfig("east", host="34.1.2.3", ca="Q0E="), private=False)
DELETE = "gcloud container clusters delete east-1a2b3c --project acme --region us-east5"


def later(why: str, *, made: bool) -> NotThere:
    return NotThere(why, east_problem(f"cluster 'east': {why}", NOT_CHECKED, GKE, severity="warning"), made)


@pytest.mark.parametrize(
    ("answer", "meaning"),
    [
        (control_plane("RUNNING"), REACHED),
        (control_plane("RECONCILING"), REACHED),
        (control_plane("DEGRADED", message="a node is ill"), REACHED),
        (control_plane("PROVISIONING"), later(f"Google Cloud is still creating cluster {NAME}", made=False)),
        (control_plane("RUNNING", None), later(f"cluster {NAME} has no IP endpoint yet", made=True)),
        (
            control_plane("STOPPING"),
            east_problem(
                f"cluster 'east' ({NAME}) is being deleted",
                "Wait until it is gone, then run `pulumi refresh`",
                GKE,
            ),
        ),
        (
            control_plane("ERROR", message="out of addresses"),
            east_problem(
                f"cluster 'east' ({NAME}) is in status ERROR: out of addresses",
                f"Fix it in Google Cloud, or delete it ({DELETE}), then run `pulumi refresh`",
                GKE,
            ),
        ),
        (None, NotThere(f"Google Cloud has no cluster {NAME}")),
    ],
)
def test_what_follows_from_googles_answer(
    answer: ControlPlane | None, meaning: Reached | NotThere | Problem
) -> None:
    assert judged(answer, connection(), PLAN) == meaning


def test_a_cluster_without_endpoint_keeps_its_uid_and_one_being_made_has_none(google: FakeGoogle) -> None:
    google.clusters[PATH] = 200, running()
    assert look(google, desired_on(uid="uid-1")).absent == ()
    google.clusters[PATH] = 200, {"status": "PROVISIONING"}
    assert look(google, desired_on(uid="uid-1")).absent == ("east",)


def test_what_google_refuses_is_a_problem_of_the_cluster(google: FakeGoogle) -> None:
    google.clusters[PATH] = 403, error(403, "PERMISSION_DENIED", "Required permission.")
    assert look(google, desired_on()).problems == (
        east_problem(
            f"it is not known where cluster 'east' is: the Container API at {google.address} refuses (403): "
            "Required permission",
            "Give whoever runs this the role roles/container.clusterViewer in project acme",
            GKE,
        ),
    )


def test_a_container_api_that_says_nothing_ends_in_time(google: FakeGoogle) -> None:
    google.hang = True
    (problem,) = look(google, desired_on(), seconds=0.3).problems
    assert problem.what == (
        f"it is not known where cluster 'east' is: the Container API at {google.address} does not answer: "
        "no answer in time"
    )


def test_a_private_endpoint_that_does_not_answer_here_is_explained(
    google: FakeGoogle, plugin: Callable[[str], Path], tls: Certificate
) -> None:
    google.clusters[PATH] = 200, running("127.0.0.9", ca=tls.ca)
    plugin(gives("t"))
    (problem,) = look(google, desired_on()).problems
    assert (problem.what, problem.next_step.partition(", or write")[0], problem.path) == (
        "cluster 'east' does not answer at https://127.0.0.9: Connection refused",
        "Its endpoint answers only inside its network: run this there, name a proxy on the way "
        "(connection.proxyUrl)",
        GKE,
    )


def test_googles_plugin_that_hangs_ends_in_time(google: FakeGoogle, plugin: Callable[[str], Path]) -> None:
    google.clusters[PATH] = 200, running("34.1.2.3", ca="Q0E=")
    plugin("exec sleep 30")
    (problem,) = look(google, desired_on(), seconds=1).problems
    assert "credential command 'gke-gcloud-auth-plugin' gave nothing within" in problem.what


def test_googles_plugin_that_is_missing_comes_with_googles_hint(
    google: FakeGoogle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    google.clusters[PATH] = 200, running("34.1.2.3", ca="Q0E=")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert look(google, desired_on()).problems == (
        east_problem(
            "cluster 'east': its credential command 'gke-gcloud-auth-plugin' is not installed",
            "Install it: https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl",
            GKE,
        ),
    )


def test_googles_plugin_that_fails_says_its_last_words(
    google: FakeGoogle, plugin: Callable[[str], Path]
) -> None:
    google.clusters[PATH] = 200, running("34.1.2.3", ca="Q0E=")
    plugin("echo trying >&2; echo 'no active account' >&2; exit 1")
    (problem,) = look(google, desired_on()).problems
    assert problem.what == (
        "cluster 'east': its credential command 'gke-gcloud-auth-plugin' failed: no active account"
    )
    assert problem.next_step.startswith("Run `gcloud auth login`, or write `state: lost`")
