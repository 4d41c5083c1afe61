"""What built-in plugins make of pods the real API server takes, for every engine and accelerator.

And pods that `restricted` made run in a namespace that enforces that level: the API server judges them by its
own admission.
"""

from collections.abc import Iterator

import pytest
from combinations import ENGINES, combinations, deployment_of
from dry_run import ApiServer
from project import Project

from inferfleet.tables.devices import VENDOR_BY_DRIVER

NAMESPACE = "restricted-pods"
LABELS = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
USER = {"name": "restricted", "config": {"runAsUser": 1000, "fsGroup": 1000}}


@pytest.fixture(scope="module")
def server(standing: Project) -> ApiServer:
    return ApiServer(standing.root / ".sandbox" / standing.stack / "east.kubeconfig")


@pytest.fixture(scope="module")
def enforcing(standing: Project) -> Iterator[str]:
    """A namespace that refuses pods that do not meet the level."""
    standing.kubectl("east", "create", "namespace", NAMESPACE)
    labels = [f"{key}={value}" for key, value in LABELS.items()]
    standing.kubectl("east", "label", "namespace", NAMESPACE, *labels)
    yield NAMESPACE
    standing.kubectl("east", "delete", "namespace", NAMESPACE, "--wait=false")


def test_every_combination_of_chain_engine_and_accelerator_is_taken(server: ApiServer) -> None:
    tried = list(combinations())
    refused = {}
    for combination in tried:
        manifest = deployment_of(combination.driver, combination.engine, combination.chain)
        if why := server.refuses(manifest):
            refused[str(combination)] = why
    assert (len(tried) >= 60, refused) == (True, {})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("driver", VENDOR_BY_DRIVER)
def test_a_namespace_that_enforces_the_level_takes_pods_of_restricted_alone(
    server: ApiServer, enforcing: str, engine: str, driver: str
) -> None:
    bare, held = (deployment_of(driver, engine, chain)["spec"]["template"] for chain in ([], [USER]))
    assert "violates PodSecurity" in server.refuses_pod(enforcing, bare)
    assert server.refuses_pod(enforcing, held) == ""
