"""Whether this machine has the programs of an update, and reaches the state."""

from collections.abc import Callable, Iterator

from inferfleet.clusters.connections.kubeconfig import GIVEN_UP
from inferfleet.clusters.connections.pulumi_command import Pulumi
from inferfleet.clusters.doctor.values import Check, unseen
from inferfleet.desired.values import Desired
from inferfleet.documents.problems import InvalidDocuments, Problem

MACHINE = "this machine"
_STATE = "the state"
_PULUMI = (
    "Run `curl -fsSL https://get.pulumi.com | sh`, or install it otherwise "
    "(https://www.pulumi.com/docs/install/), and put it on the PATH"
)
# Kubeconfigs of GKE clusters name it, and hold no tokens
# (docs.cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl).
_GOOGLES = "gke-gcloud-auth-plugin"


def program_checks(desired: Desired, installed: Callable[[str], bool]) -> Iterator[Check]:
    """Yield a check for each program that an update starts. `installed` says whether one is on the PATH."""
    # The language host comes in Pulumi's own archive, beside `pulumi`.
    steps = {"pulumi": _PULUMI, "pulumi-language-python": _PULUMI}
    connections = [cluster.connection for cluster in desired.clusters]
    if any(connection.cloud and connection.state not in GIVEN_UP for connection in connections):
        steps[_GOOGLES] = f"Run `gcloud components install {_GOOGLES}`, and put it on the PATH"
    for program, step in steps.items():
        what = f"program {program}"
        if installed(program):
            yield Check(MACHINE, what)
        else:
            problem = Problem(f"there is no `{program}` on the PATH, and an update starts it", step)
            yield Check(MACHINE, what, "wrong", problem)


def state_checks(pulumi: Pulumi, installed: Callable[[str], bool]) -> Iterator[Check]:
    """Ask the backend for the stack's state, and for nothing in it."""
    if not installed("pulumi"):
        yield unseen(_STATE, "backend", "because `pulumi` asks it and is not on the PATH", _PULUMI)
        return
    try:
        backend = pulumi.backend()
    except InvalidDocuments as invalid:
        yield from (Check(_STATE, "backend", "wrong", problem) for problem in invalid.problems)
        return
    try:
        pulumi.busy()
    except InvalidDocuments as invalid:
        yield from (Check(_STATE, f"backend {backend}", "wrong", problem) for problem in invalid.problems)
        return
    if backend.startswith("file:"):
        problem = Problem(
            f"the state is in {backend}, and lost with this machine",
            "For a fleet that others update too, make a bucket and run `pulumi login gs://<bucket>`",
            severity="notice",
        )
        yield Check(_STATE, f"backend {backend}", "fine", problem)
    else:
        yield Check(_STATE, f"backend {backend}")
