"""What `inferfleet doctor` says of the host project of a Shared VPC."""

from pathlib import Path

from fake_google import FakeGoogle
from small_gke import at, decided, written

from inferfleet.clusters.connections.google import GoogleLogin, ProjectApi
from inferfleet.clusters.preflight.check import Check
from inferfleet.clusters.preflight.projects import project_checks, project_needs

SHARED = (
    "network: {existing: {name: shared, subnetwork: nodes, podsRange: pods, servicesRange: services, "
    "project: acme-net}}"
)
USE = "permission compute.subnetworks.use"


def looked(google: FakeGoogle, folder: Path, *, network: str = SHARED) -> dict[str, Check]:
    """The checks of host projects, by what was looked at."""
    (needs,) = project_needs(decided(written(folder, gke=network))[0])
    addresses = at(google)
    addresses = type(addresses)(
        addresses.container, addresses.compute, addresses.quotas, google.address, google.address
    )
    checks = project_checks(needs, ProjectApi(addresses, GoogleLogin(), seconds=300))
    return {check.what: check for check in checks if check.of == "host project acme-net"}


def test_a_network_of_the_cluster_s_own_project_has_no_host(google: FakeGoogle, tmp_path: Path) -> None:
    own = SHARED.replace(", project: acme-net", "")
    assert looked(google, tmp_path, network=own) == {}


def test_the_permission_on_the_subnetwork_is_asked_of_the_host(google: FakeGoogle, tmp_path: Path) -> None:
    assert looked(google, tmp_path)[USE] == Check("host project acme-net", USE)


def test_without_it_on_the_project_it_may_be_on_the_subnetwork(google: FakeGoogle, tmp_path: Path) -> None:
    google.denied = {"compute.subnetworks.use"}
    check = looked(google, tmp_path)[USE]
    assert check.verdict == "unseen"
    assert check.problem
    assert check.problem.next_step == (
        "Where they do not, run `gcloud projects add-iam-policy-binding acme-net --member user:<you> --role "
        "roles/compute.networkUser`, or have somebody run it"
    )


def test_roles_of_accounts_of_google_s_are_told_with_their_commands(
    google: FakeGoogle, tmp_path: Path
) -> None:
    check = looked(google, tmp_path)["accounts of Google's"]
    number = "$(gcloud projects describe acme-ml --format 'value(projectNumber)')"
    bind = 'gcloud projects add-iam-policy-binding acme-net --member "serviceAccount:'
    agent = f'{bind}service-{number}@container-engine-robot.iam.gserviceaccount.com" --role roles/'
    assert check.verdict == "unseen"
    assert check.problem
    assert check.problem.next_step == (
        f"Have somebody who may run `{agent}container.hostServiceAgentUser`, `{agent}compute.networkUser`, "
        f'`{bind}{number}@cloudservices.gserviceaccount.com" --role roles/compute.networkUser`'
    )
