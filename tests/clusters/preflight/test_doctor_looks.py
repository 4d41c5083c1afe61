"""What `inferfleet doctor` says of both stacks of the repository, with things broken one by one.

Google and API servers are fakes that answer as the real ones; every finding names the command that mends it.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from fake_cluster import KINDS, FakeCluster, thing
from fake_google import FakeGoogle, error
from small_gke import at, limits

from inferfleet.clusters.connections.kubeconfig import Kubeconfigs
from inferfleet.clusters.connections.pulumi_command import Pulumi
from inferfleet.clusters.preflight.check import Check
from inferfleet.clusters.preflight.doctor import Subject, look
from inferfleet.desired import desired
from inferfleet.desired.values import Desired, ObjectNeed
from inferfleet.documents.documents import Documents
from inferfleet.documents.loading.stack import load_stack
from inferfleet.fleet.lock.lock import Lock

ROOT = Path(__file__).parents[3]
Start = Callable[..., FakeCluster]
PROGRAMS = ("pulumi-language-python", "gke-gcloud-auth-plugin")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with the programs of an update; this `pulumi` knows a backend in a bucket and no stacks."""
    folder = tmp_path / "programs"
    folder.mkdir()
    written(folder / "pulumi", 'case "$1" in whoami) echo \'{"url": "gs://states"}\';; *) echo "[]";; esac')
    for program in PROGRAMS:
        written(folder / program, "exit 0")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def written(file: Path, body: str) -> None:
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o700)


@cache
def planned(stack: str) -> tuple[Desired, Documents]:
    """What is desired of a stack of the repository, and its documents: the same for every test."""
    documents, _ = load_stack(ROOT, stack)
    return desired(documents, Lock(stack=stack)), documents


def looked(
    stack: str, google: FakeGoogle, texts: dict[str, str] | None = None, *, needs: tuple[ObjectNeed, ...] = ()
) -> tuple[Check, ...]:
    """`needs` are what pods of the stack's first cluster name besides."""
    wanted, documents = planned(stack)
    first, *others = wanted.clusters
    wanted = replace(wanted, clusters=(replace(first, objects_needed=needs), *others))
    subject = Subject(wanted, documents, Lock(stack=stack), _given(texts or {}))
    addresses = at(google)
    return look(
        subject,
        Pulumi(ROOT, stack),
        replace(addresses, services=google.address, projects=google.address),
        seconds=300,
    )


def _given(texts: dict[str, str]) -> Kubeconfigs:
    return Kubeconfigs(texts, {}, ())


def mended_by(checks: tuple[Check, ...], what: str) -> str:
    """The step of the one finding that has these words."""
    (found,) = {check.problem for check in checks if check.problem and what in check.problem.what}
    return found.next_step


def enable(api: str) -> str:
    return f"Run `gcloud services enable {api} --project inferfleet-demo`"


def grant(role: str) -> str:
    return (
        "Run `gcloud projects add-iam-policy-binding inferfleet-demo --member user:<you> --role "
        f"{role}`, or have somebody run it"
    )


def test_of_a_project_that_is_ready_all_is_fine(google: FakeGoogle, programs: Path) -> None:
    google.disabled = set()
    checks = [check for check in looked("gke-demo", google) if check.of.startswith(("project", "this"))]
    assert {check.verdict for check in checks} == {"fine"}
    assert {"API cloudresourcemanager.googleapis.com", "permission container.pods.list"} <= {
        check.what for check in checks
    }


@pytest.mark.parametrize(
    "api", ["compute.googleapis.com", "cloudresourcemanager.googleapis.com", "networkservices.googleapis.com"]
)
def test_an_api_that_is_not_enabled_is_named_with_its_command(
    google: FakeGoogle, programs: Path, api: str
) -> None:
    google.disabled = {api}
    assert mended_by(looked("gke-demo", google), f"API {api} is not enabled") == enable(api)


@pytest.mark.parametrize(
    ("permission", "role"),
    [
        ("container.pods.list", "roles/container.viewer"),
        ("container.clusters.connect", "roles/container.viewer"),
        ("compute.networks.create", "roles/compute.networkAdmin"),
        ("resourcemanager.projects.setIamPolicy", "roles/resourcemanager.projectIamAdmin"),
    ],
)
def test_a_permission_that_is_missing_is_named_with_a_role_that_has_it(
    google: FakeGoogle, programs: Path, permission: str, role: str
) -> None:
    google.disabled = set()
    google.denied = {permission}
    assert mended_by(looked("gke-demo", google), f"lack the permission {permission} ") == grant(role)


def test_policies_that_may_not_be_read_are_a_row_that_was_not_seen(
    google: FakeGoogle, programs: Path
) -> None:
    refused = error(403, "PERMISSION_DENIED", "Permission 'orgpolicy.policy.get' denied.")
    constraints = ("compute.restrictLoadBalancerCreationForTypes", "gcp.restrictNonCmekServices")
    for constraint in constraints:
        path = f"/v2/projects/inferfleet-demo/policies/{constraint}:getEffectivePolicy"
        google.clusters[path] = 403, refused
    words = (
        f"not read: policies {', '.join(constraints)} of project inferfleet-demo, which needs the permission"
    )
    (row,) = [check for check in looked("gke-demo", google) if check.problem and words in check.problem.what]
    assert (row.of, row.verdict) == ("Google Cloud", "unseen")
    assert row.problem
    assert row.problem.next_step == (
        "Give whoever runs this the role roles/orgpolicy.policyViewer in project inferfleet-demo"
    )


def test_what_google_does_not_answer_is_not_seen_and_says_why(google: FakeGoogle, programs: Path) -> None:
    path = "/v1/projects/inferfleet-demo:testIamPermissions"
    words = "Cloud Resource Manager API has not been used in project 1 before or it is disabled"
    google.clusters[path] = 403, error(403, "PERMISSION_DENIED", words, reason="SERVICE_DISABLED")
    checks = looked("gke-demo", google)
    assert mended_by(checks, "permissions of project inferfleet-demo: not seen") == enable(
        "cloudresourcemanager.googleapis.com"
    )
    assert {check.verdict for check in checks if check.what == "permissions"} == {"unseen"}


@pytest.mark.parametrize(
    ("program", "step"),
    [
        (
            "pulumi-language-python",
            "Run `curl -fsSL https://get.pulumi.com | sh`, or install it otherwise "
            "(https://www.pulumi.com/docs/install/), and put it on the PATH",
        ),
        (
            "gke-gcloud-auth-plugin",
            "Run `gcloud components install gke-gcloud-auth-plugin`, and put it on the PATH",
        ),
    ],
)
def test_a_program_that_is_missing_is_named(
    google: FakeGoogle, programs: Path, program: str, step: str
) -> None:
    (programs / program).unlink()
    assert mended_by(looked("gke-demo", google), f"there is no `{program}` on the PATH") == step


def test_a_gateway_that_anybody_can_reach_is_named(google: FakeGoogle, programs: Path) -> None:
    reached = [check for check in looked("local", google) if check.what == "who reaches its gateway"]
    assert [(check.of, check.verdict) for check in reached] == [
        ("cluster east", "fine"),
        ("cluster west", "fine"),
    ]
    assert mended_by(tuple(reached[:1]), "most clouds make a public address") == (
        "Write serviceType: Internal, or ClusterIP, unless something in front of it lets only some in"
    )


def test_a_state_that_does_not_answer_is_told_in_the_words_of_pulumi(
    google: FakeGoogle, programs: Path
) -> None:
    written(programs / "pulumi", 'echo "error: PULUMI_ACCESS_TOKEN must be set" >&2; exit 255')
    step = "Log in (`pulumi login`), or set PULUMI_BACKEND_URL"
    assert mended_by(looked("local", google), "`pulumi whoami --verbose --json` failed") == step


def test_a_cluster_that_is_down_is_named_and_the_others_are_looked_at(
    google: FakeGoogle, programs: Path, cluster: Start
) -> None:
    names = sorted(load_stack(ROOT, "local")[0].clusters)
    fakes = {name: cluster() for name in names}
    fakes[names[0]].close()
    checks = looked("local", google, {name: fake.kubeconfig for name, fake in fakes.items()})
    assert "`state: lost`" in mended_by(checks, f"cluster {names[0]!r} does not answer")
    assert any(check.of == f"cluster {names[1]}" and check.verdict == "fine" for check in checks)


def test_rights_that_are_missing_are_named_with_how_to_look(
    google: FakeGoogle, programs: Path, cluster: Start
) -> None:
    name = min(load_stack(ROOT, "local")[0].clusters)
    fake = cluster(denied={("patch", "namespaces")})
    checks = looked("local", google, {name: fake.kubeconfig})
    assert mended_by(checks, "may not patch namespaces of v1") == (
        "Have an administrator run `kubectl create clusterrole inferfleet-namespaces --verb=get,create,patch,"
        "delete --resource=namespaces` and `kubectl create clusterrolebinding inferfleet-namespaces "
        "--clusterrole=inferfleet-namespaces --user=<you>`, and look with `kubectl auth can-i patch "
        "namespaces --all-namespaces`"
    )
    assert all(path.endswith("/selfsubjectaccessreviews") for path, _ in fake.posted)


def test_rights_without_which_nothing_is_heard_of_pods_are_a_warning(
    google: FakeGoogle, programs: Path, cluster: Start
) -> None:
    name = min(load_stack(ROOT, "local")[0].clusters)
    checks = looked("local", google, {name: cluster(denied={("watch", "pods")}).kubeconfig})
    assert mended_by(checks, "may not watch pods in namespace ml, so an update that waits for them") == (
        "Have an administrator run `kubectl create clusterrole inferfleet-pods --verb=list,watch "
        "--resource=pods` and `kubectl create clusterrolebinding inferfleet-pods "
        "--clusterrole=inferfleet-pods --user=<you>`, and look with `kubectl auth can-i watch pods "
        "--namespace ml`"
    )
    (found,) = {check for check in checks if check.what == "rights to pods"}
    assert (found.verdict, found.problem and found.problem.severity) == ("unseen", "warning")


def test_nodes_that_are_missing_and_a_class_without_controller_are_named(
    google: FakeGoogle, programs: Path, cluster: Start
) -> None:
    documents, _ = load_stack(ROOT, "local")
    name = min(documents.clusters)
    gateway = documents.clusters[name].spec.serving.gateway.class_name
    assert gateway
    waiting = {"type": "Accepted", "status": "Unknown", "message": "Waiting for controller"}
    spec = {"controllerName": "example.net/gateway"}
    fake = cluster(objects=[thing("GatewayClass", gateway, spec=spec, status={"conditions": [waiting]})])
    checks = looked("local", google, {name: fake.kubeconfig})
    assert mended_by(checks, f"GatewayClass {gateway!r} on cluster").startswith(
        "See whether that controller runs"
    )
    missing = [check.problem for check in checks if check.problem and " declares " in check.problem.what]
    assert missing
    assert all("`kubectl label node <node> " in problem.next_step for problem in missing)


CLAIM = ObjectNeed(
    "PersistentVolumeClaim", "ml", "nothere", (), ("ml/a",), "ModelDeployment", "ml/a", "spec.plugins[0]"
)


def test_what_pods_name_and_a_cluster_lacks_is_wrong_there(
    google: FakeGoogle, programs: Path, cluster: Start
) -> None:
    """The problem is of a deployment, and the check of the cluster where it was looked for."""
    name = min(load_stack(ROOT, "local")[0].clusters)
    claims = {"PersistentVolumeClaim": ("persistentvolumeclaims", True)}
    fake = cluster(kinds={**KINDS, "v1": {**KINDS["v1"], **claims}})
    checks = looked("local", google, {name: fake.kubeconfig}, needs=(CLAIM,))
    (found,) = (check for check in checks if check.problem and "nothere" in check.problem.what)
    assert (found.of, found.verdict) == (f"cluster {name}", "wrong")


def test_what_nobody_will_have_made_on_a_cluster_to_come_is_wrong_there(
    google: FakeGoogle, programs: Path
) -> None:
    checks = looked("gke-demo", google, needs=(CLAIM,))
    (found,) = (check for check in checks if check.problem and "nothere" in check.problem.what)
    assert (found.what, found.verdict) == ("what nobody installs there by then", "wrong")


def test_without_credentials_nothing_of_google_is_called_fine(
    google: FakeGoogle, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    checks = [check for check in looked("gke-demo", google) if check.of not in ("this machine", "the state")]
    assert {check.verdict for check in checks} == {"unseen"}
    steps = {check.problem.next_step for check in checks if check.problem}
    assert all("gcloud auth application-default login" in step for step in steps)


def test_what_google_does_not_say_of_quotas_is_not_seen_and_what_it_says_is(
    google: FakeGoogle, programs: Path
) -> None:
    google.disabled = set()
    told = [check for check in looked("gke-demo", google) if check.of == "Google Cloud"]
    assert [(check.verdict, check.problem.what.partition(":")[0]) for check in told if check.problem] == [
        ("unseen", "quotas, reservations and subnetworks of project inferfleet-demo are not all known"),
        (
            "wrong",
            "there is no reservation 'h100-mega' of project inferfleet-demo in us-central1-a, and pool "
            "central/h100 needs it",
        ),
    ]
    assert mended_by(looked("gke-demo", google), "there is no reservation 'h100-mega'") == (
        "Look with `gcloud compute reservations list --project inferfleet-demo`; name another one, or fix it"
    )


def test_a_quota_that_is_too_small_is_wrong(google: FakeGoogle, programs: Path) -> None:
    project = "/compute/v1/projects/inferfleet-demo"
    for region in ("us-central1", "us-east4"):
        google.clusters[f"{project}/regions/{region}"] = limits(CPUS=(1, 0))
    google.clusters[project] = limits(CPUS_ALL_REGIONS=(9_999, 0), GPUS_ALL_REGIONS=(9_999, 0))
    told = [check for check in looked("gke-demo", google) if check.of == "Google Cloud"]
    steps = {
        check.problem.next_step
        for check in told
        if check.verdict == "wrong" and check.problem and "quota CPUS of project" in check.problem.what
    }
    where = "https://console.cloud.google.com/iam-admin/quotas?project=inferfleet-demo"
    assert len(steps) == 1
    assert all(where in step for step in steps)


def test_without_pulumi_the_state_is_not_seen(google: FakeGoogle, programs: Path) -> None:
    (programs / "pulumi").unlink()
    checks = looked("local", google)
    assert mended_by(checks, "there is no `pulumi` on the PATH").startswith("Run `curl")
    assert [check.verdict for check in checks if check.of == "the state"] == ["unseen"]
