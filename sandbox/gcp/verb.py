"""`inferfleet sandbox cloud`: look into the simulated Google Cloud, change things by hand, make it fail."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console

from inferfleet.cli.output import print_json
from inferfleet.cloud.gke.facts.schema import at
from sandbox.gcp import faults
from sandbox.gcp.access import cloud_exists
from sandbox.gcp.faults import Faults
from sandbox.gcp.opening import open_cloud
from sandbox.gcp.rules.policies import CONSTRAINTS
from sandbox.gcp.store import CLUSTER, POOL, Record, Records, Store
from sandbox.places import StackPlaces, project_root
from sandbox.problem import SandboxProblem
from sandbox.verbs.reporting import AsJson, Stack, reported_problems
from sandbox.verbs.tables import cells, print_table, say, table

app = typer.Typer(
    help="The simulated Google Cloud of a stack: what exists there, faults, and changes by hand.",
    no_args_is_help=True,
)
fault_app = typer.Typer(help="Make the cloud fail, until `fault clear`.", no_args_is_help=True)
app.add_typer(fault_app, name="fault")
Hardware = Annotated[str, typer.Argument(help="An accelerator such as nvidia-l4, or a machine type.")]


@app.command()
def show(stack: Stack = "local", as_json: AsJson = False) -> None:
    """Show what exists in the cloud, and the faults in force."""
    with reported_problems(as_json=as_json):
        places = _places(stack)
        records, in_force = Store(places.cloud).read(), faults.read(places.cloud)
        if as_json:
            print_json(as_values(records, in_force))
        else:
            print_cloud(records, in_force, Console(highlight=False, soft_wrap=False))


@app.command()
def edit(
    name: Annotated[str, typer.Argument(help="The name of a resource, or the end of its ID.")],
    change: Annotated[
        str, typer.Argument(help="FIELD=VALUE, such as nodeConfig.labels.team=b or nodeCount=3.")
    ],
    stack: Stack = "local",
) -> None:
    """Change a resource by hand, as somebody does in the console. The next refresh sees it."""
    with reported_problems() as progress:
        places = _places(stack)
        record = find_resource(Store(places.cloud).read(), name)
        field, _, value = change.partition("=")
        open_cloud(places).edit(record.id, with_field(record, field, value))
        progress.say(f"{record.id}: {field} is {value}")


@app.command()
def pace(
    grow_after: Annotated[float, typer.Option(help="Seconds that a pod waits before it gets a node.")] = 10,
    idle_for: Annotated[float, typer.Option(help="Seconds that a node is empty before it is removed.")] = 20,
    stack: Stack = "local",
) -> None:
    """Set how fast autoscaled pools grow and shrink."""
    _change(stack, lambda old: faults.with_pace(old, grow_after=grow_after, idle_for=idle_for))


@fault_app.command()
def stockout(
    zone: Annotated[str, typer.Argument(help="The zone, such as us-central1-a.")],
    hardware: Hardware,
    stack: Stack = "local",
) -> None:
    """Make a zone run out of an accelerator or machine type."""
    _change(stack, faults.with_stockout(zone, hardware))


@fault_app.command()
def quota(
    region: Annotated[str, typer.Argument(help="The region, such as us-central1.")],
    hardware: Hardware,
    limit: Annotated[int, typer.Argument(help="How many of them the region may have.")],
    stack: Stack = "local",
) -> None:
    """Limit how many accelerators of a type a region may have; of SSD_TOTAL_GB only who asks notices."""
    _change(stack, faults.with_quota(region, hardware, limit))


@fault_app.command()
def conflict(
    cluster: Annotated[str, typer.Argument(help="The name of the cluster in the cloud.")],
    stack: Stack = "local",
) -> None:
    """Make a cluster busy with somebody else's operation."""
    _change(stack, faults.with_conflict(cluster))


@fault_app.command()
def policy(
    constraint: Annotated[str, typer.Argument(help="The constraint, such as compute.requireShieldedVm.")],
    stack: Stack = "local",
) -> None:
    """Have the organisation enforce a constraint: one of those that sandbox/README.md lists."""
    if constraint not in CONSTRAINTS:
        raise SandboxProblem(
            f"the simulated cloud does not know {constraint!r}. It knows {', '.join(CONSTRAINTS)}."
        )
    _change(stack, faults.with_policy(constraint))


@fault_app.command()
def disabled(
    api: Annotated[str, typer.Argument(help="The API, such as iam.googleapis.com.")], stack: Stack = "local"
) -> None:
    """Say of an API that no project has enabled it."""
    _change(stack, faults.with_disabled(api))


@fault_app.command()
def denied(
    permission: Annotated[str, typer.Argument(help="The permission, such as compute.networks.create.")],
    stack: Stack = "local",
) -> None:
    """Say of a permission that the credentials lack it."""
    _change(stack, faults.with_denied(permission))


@fault_app.command()
def slow(
    seconds: Annotated[float, typer.Argument(help="How many seconds longer.")], stack: Stack = "local"
) -> None:
    """Make every operation take this many seconds longer."""
    _change(stack, faults.with_delay(seconds))


@fault_app.command()
def clear(stack: Stack = "local") -> None:
    """Remove all faults."""
    _change(stack, lambda old: old.cleared)


def find_resource(records: Records, name: str) -> Record:
    """Return the resource with this ID, or whose ID ends like this: `h100`, `clusters/east-1a2b3c`.

    Raises SandboxProblem when there is none, or more than one.
    """
    matches = [record for record in records.values() if record.id == name or record.id.endswith(f"/{name}")]
    if len(matches) != 1:
        ids = "\n  ".join(record.id for record in (matches or records.values())) or "nothing"
        raise SandboxProblem(f"{name!r} names {len(matches)} resources. Name one of:\n  {ids}")
    return matches[0]


def with_field(record: Record, field: str, value: str) -> dict[str, Any]:
    """Return the resource's state with a field set. The value is read as JSON if it is JSON, else as text.

    Raises SandboxProblem for a field that the type does not have, or that lies inside a list.
    """
    if at(record.token, field) is None:
        raise SandboxProblem(
            f"{record.token} has no field {field!r}. `sandbox cloud show --json` shows them."
        )
    try:
        new: Any = json.loads(value)
    except ValueError:
        new = value
    state: dict[str, Any] = json.loads(json.dumps(record.state))
    *path, last = field.split(".")
    inside: Any = state
    for name in path:
        inside = inside.setdefault(name, {})
        if not isinstance(inside, dict):
            raise SandboxProblem(f"{name} of {field} is a list. Set the whole list, as JSON.")
    inside[last] = new
    return state


def as_values(records: Records, in_force: Faults) -> dict[str, Any]:
    """Return every resource with its whole state, and the faults, as JSON values."""
    return {"resources": [asdict(record) for record in records.values()], "faults": asdict(in_force)}


def print_cloud(records: Records, in_force: Faults, console: Console) -> None:
    """Print a row for each resource, then the messages of resources, and the faults in force."""
    resources = table("simulated Google Cloud", "type", "project", "name", "status", "nodes per zone")
    for record in sorted(records.values(), key=lambda record: (record.token, record.id)):
        project, _, name = record.id.removeprefix("projects/").partition("/")
        status = record.status if record.token in (CLUSTER, POOL) else ""
        resources.add_row(*cells(record.token.rpartition(":")[2], project, name, status, _nodes(record)))
    print_table(resources, console)
    for record in records.values():
        if record.message:
            say(console, f"{record.id}: {record.message}")
    for line in faults.lines(in_force):
        say(console, line)


def _nodes(record: Record) -> str:
    if record.token != POOL:
        return ""
    return ", ".join(f"{count} in {zone}" for zone, count in sorted(record.zones.items()))


def _change(stack: str, changed: Callable[[Faults], Faults]) -> None:
    with reported_problems() as progress:
        in_force = faults.change(_places(stack).cloud, changed)
        progress.say("\n".join(faults.lines(in_force)))


def _places(stack: str) -> StackPlaces:
    places = StackPlaces(project_root(), stack)
    if not cloud_exists(places):
        raise SandboxProblem(
            f"stack {stack} has no simulated cloud. Where its documents have clusters with source GKE, "
            f"`inferfleet sandbox up --stack {stack}` makes it; name another stack with --stack."
        )
    return places
