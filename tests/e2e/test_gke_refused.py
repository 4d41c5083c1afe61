"""What somebody is told who has no credentials, rights, plugins or such a project: a sentence, and soon."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from documents import model
from fake_google import FakeGoogle, error, running, service_account
from gke_fleet import gke, l4
from project import Project, checkout

from inferfleet.cloud.gke import names as cloud_names
from sandbox.environment import environment
from sandbox.places import StackPlaces
from sandbox.pulumi_state import prepare_pulumi
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.tools import make_tools

STACK, PLACE = "real", ("acme-ml", "us-east5")
OVERRIDE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_"
CLUSTER = cloud_names.gke_cluster("far", stack=STACK, project=PLACE[0], region=PLACE[1])
PATH = f"/v1/projects/{PLACE[0]}/locations/{PLACE[1]}/clusters/{CLUSTER}"
FORBIDDEN = error(403, "PERMISSION_DENIED", 'Required "container.clusters.get" permission.')
DISABLED = error(403, "PERMISSION_DENIED", "Kubernetes Engine API is disabled.", reason="SERVICE_DISABLED")


@pytest.fixture
def google() -> Iterator[FakeGoogle]:
    fake = FakeGoogle()
    yield fake
    fake.close()


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A checkout with an engine, and nothing of Google's: no plugin, no credentials, no login."""
    root = tmp_path_factory.mktemp("bare")
    made, places, tools = checkout(root, STACK), StackPlaces(root, STACK), make_tools(Progress())
    prepare_pulumi(places, tools)
    # CI locks stacks by default.
    outside = {name: value for name, value in os.environ.items() if name != "CI"}
    return replace(made, environment={**outside, **environment(places, tools), "HOME": str(root)})


@pytest.fixture
def user(bare: Project, google: FakeGoogle, tmp_path: Path) -> Project:
    """Somebody who may ask Google, which knows no cluster yet."""
    far = gke("far", PLACE[1], l4(nodeCount=1, zones=["us-east5-a"]), project=PLACE[0])
    bare.begin(clusters=[far], models=[model("small", on="far")])
    account = service_account(tmp_path / "account.json", f"{google.address}/token")
    there = {
        f"{OVERRIDE}{api}": google.address for api in ("CONTAINER", "COMPUTE", "CLOUDQUOTAS", "ORGPOLICY")
    }
    return _with(bare, GOOGLE_APPLICATION_CREDENTIALS=str(account), **there)


def test_without_credentials_the_way_to_some_is_told(user: Project) -> None:
    told = _refused(_with(user, GOOGLE_APPLICATION_CREDENTIALS="", NO_GCE_CHECK="true"))
    assert "it is not known where cluster 'far' is: there are no Google credentials" in told
    assert "Run `gcloud auth application-default login`" in told


@pytest.mark.parametrize(
    ("answer", "next_step"),
    [
        (FORBIDDEN, "Give whoever runs this the role roles/container.clusterViewer in project acme-ml"),
        (DISABLED, "Run `gcloud services enable container.googleapis.com --project acme-ml`"),
    ],
)
def test_a_refusal_of_google_is_told_with_the_next_step(
    user: Project, google: FakeGoogle, answer: dict[str, object], next_step: str
) -> None:
    google.clusters[PATH] = (403, answer)
    assert next_step in _refused(user)


def test_a_container_api_that_does_not_answer_is_named(user: Project) -> None:
    told = _refused(_with(user, **{f"{OVERRIDE}CONTAINER": "http://127.0.0.1:9"}))
    assert "the Container API at http://127.0.0.1:9 does not answer: Connection refused" in told


def test_without_the_plugin_of_the_provider_the_engine_says_so(user: Project) -> None:
    assert "no resource plugin 'pulumi-resource-gcp' found" in _refused(user)


def test_without_the_login_of_gke_a_cluster_cannot_be_asked(user: Project, google: FakeGoogle) -> None:
    google.clusters[PATH] = (200, running(dns="far.us-east5.gke.goog"))
    told = _refused(_with(user, PATH=_without("gke-gcloud-auth-plugin", user.environment["PATH"])))
    assert "its credential command 'gke-gcloud-auth-plugin' is not installed" in told


def test_a_project_that_cannot_be_is_refused_before_anybody_is_asked(
    user: Project, google: FakeGoogle
) -> None:
    user.write("clusters", gke("far", PLACE[1], l4(nodeCount=1), project="Acme_ML"))
    told = _refused(user)
    assert "spec.cluster.gke.project" in told
    assert "a project ID: 6 to 30 lowercase letters, digits and '-'" in told
    assert google.asked == []


def _without(program: str, path: str) -> str:
    return os.pathsep.join(one for one in path.split(os.pathsep) if not (Path(one) / program).exists())


def _with(user: Project, **variables: str) -> Project:
    return replace(user, environment={**user.environment, **variables})


def _refused(user: Project) -> str:
    """What a preview says that fails for a user's reason."""
    preview = user.preview()
    assert preview.code != 0, preview.output
    assert "Traceback" not in preview.output
    return preview.output
