"""The tutorial of a first model on GKE asks for what the program needs, and has the catalogue's prices."""

import re
import subprocess
from pathlib import Path

import pytest
from test_pages import CATALOGUE, ROOT, pages, written

from inferfleet.cli.verbs.new import project_files
from inferfleet.cloud.gke.quotas import quota_uses
from inferfleet.clusters.preflight.projects import project_needs
from inferfleet.desired import desired
from inferfleet.documents import load
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.lock.lock import Lock

PAGE = ROOT / "docs" / "tutorials" / "first-model-on-gke.md"
TEXT = PAGE.read_text()
# What roles hold that the doctor does not ask for, of what the page does besides: the state of APIs, and the
# bucket of the stack's state (Google's definitions of roles, 2026-08-22:
# https://github.com/iann0036/iam-dataset/tree/main/gcp/roles).
BESIDES = {
    "roles/serviceusage.serviceUsageViewer": {"serviceusage.services.get"},
    "roles/storage.admin": {
        "storage.buckets.create",
        "storage.buckets.update",
        "storage.buckets.delete",
        "storage.objects.create",
        "storage.objects.delete",
    },
    "roles/storage.objectAdmin": {"storage.objects.create", "storage.objects.delete"},
}
# What commands of the page ask for, by how they begin.
ASKED_BY = {
    "gcloud storage buckets create": "storage.buckets.create",
    "gcloud storage buckets update": "storage.buckets.update",
    "gcloud storage rm --recursive": "storage.buckets.delete",
    "pulumi login gs:": "storage.objects.create",
    "inferfleet doctor": "serviceusage.services.get",
}


@pytest.fixture
def documents(tmp_path: Path) -> Documents:
    return load([written(PAGE, tmp_path)], settings=Settings(stack="prod"), catalogue=CATALOGUE)


def test_roles_and_apis_of_the_page_are_those_that_the_doctor_asks_for(documents: Documents) -> None:
    (asked,) = project_needs(desired(documents, Lock(stack="prod")))
    (roles,) = re.findall(r"^for role in (.*); do$", TEXT, re.MULTILINE)
    besides = BESIDES.keys() - {"roles/storage.objectAdmin"}
    assert {f"roles/{role}" for role in roles.split()} == besides | {one.role for one in asked.permissions}
    (enabled,) = re.findall(r"^gcloud services enable (.*) --project", TEXT, re.MULTILINE)
    assert set(enabled.split()) == {*asked.apis, "serviceusage.googleapis.com", "storage.googleapis.com"}


def test_roles_of_the_page_allow_its_commands_beside_those_for_the_stack() -> None:
    (roles,) = re.findall(r"^for role in (.*); do$", TEXT, re.MULTILINE)
    given = {name for role in roles.split() for name in BESIDES.get(f"roles/{role}", ())}
    asked = {name for begins, name in ASKED_BY.items() if re.search(f"^{begins}", TEXT, re.MULTILINE)}
    assert (asked - given, asked) == (set(), set(ASKED_BY.values()))


def test_the_page_has_the_prices_and_the_region_of_the_class(documents: Documents) -> None:
    cluster = documents.clusters["first"].spec
    (pool,) = cluster.node_pools
    price = documents.classes[pool.class_name].spec.price
    assert price is not None
    assert f"Spot | {price.spot} | class `{pool.class_name}`: {price.region}, {price.as_of}" in TEXT
    assert f"on demand | {price.on_demand} |" in TEXT
    gke = cluster.cluster.gke
    assert gke is not None
    assert gke.region == price.region
    cheapest = documents.classes["gke-l4-1x-g2-4"].spec.price
    assert cheapest is not None
    assert f"`gke-l4-1x-g2-4` (Spot {cheapest.spot})" in TEXT


def test_the_sum_of_the_page_is_that_of_its_table() -> None:
    rows = [line.split("|")[2] for line in TEXT.splitlines() if line.startswith("| ")]
    spot, on_demand, *others = [float(found[0]) for row in rows if (found := re.findall(r"0\.\d+", row))][:6]
    assert f"That is {spot + sum(others):.2f} per hour with Spot, and {on_demand + sum(others):.2f}" in TEXT


def test_the_disks_of_the_page_are_within_the_quota_that_it_asks_for(documents: Documents) -> None:
    """The system pool's one node and that of the model."""
    found = desired(documents, Lock(stack="prod"))
    clouds = [cluster.connection.cloud for cluster in found.clusters if cluster.connection.cloud]
    taken = {need.metric: need.amount for need in quota_uses(documents, clouds, Lock(), found.plan, {})}
    assert taken["SSD_TOTAL_GB"] == 250
    assert "`SSD_TOTAL_GB` of the region, which must be 250: 50 for the system node, 200 for" in TEXT


def test_no_page_installs_what_an_index_has_under_our_name() -> None:
    bare = re.compile(
        r"""^\S*pip install (-\S+ )*['"]?inferfleet(\[[a-z]+\])?['"]?( |$)(?!@)""", re.MULTILINE
    )
    places = (*pages(), ROOT / "template" / "README.md")
    assert [page.name for page in places if bare.search(page.read_text())] == []


@pytest.mark.parametrize(
    "origin", ["inferfleet @ git+https://HOST/OWNER/inferfleet@COMMIT", "inferfleet==1.2.0"]
)
def test_the_sed_of_the_page_adds_what_asks_google(origin: str, tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    before = re.sub(
        "^inferfleet.*$", origin, project_files("fleet", "A fleet")[file.name], flags=re.MULTILINE
    )
    file.write_text(before)
    (command,) = re.findall(r"^sed .* requirements\.txt$", TEXT, re.MULTILINE)
    subprocess.run(["bash", "-c", command], check=True, cwd=tmp_path)
    asks = origin.replace("inferfleet", "inferfleet[gke]", 1)
    assert file.read_text() == before.replace(f"\n{origin}\n", f"\n{asks}\n")
    assert asks in file.read_text()
