"""`inferfleet sandbox cloud`: look into the simulated Google Cloud, change things by hand, make it fail."""

import json
from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console

from sandbox.gcp import faults
from sandbox.gcp.access import stands
from sandbox.gcp.edit import edited, found
from sandbox.gcp.faults import Faults
from sandbox.gcp.real import cloud_of
from sandbox.gcp.store import Store
from sandbox.gcp.tables import as_values, print_cloud
from sandbox.places import StackPlaces, project_root
from sandbox.problem import SandboxProblem
from sandbox.verbs.told import Stack, told

app = typer.Typer(
    help="The simulated Google Cloud of a stack: what exists there, faults, and changes by hand.",
    no_args_is_help=True,
)
fault_app = typer.Typer(help="Make the cloud fail, until `fault clear`.", no_args_is_help=True)
app.add_typer(fault_app, name="fault")
Hardware = Annotated[str, typer.Argument(help="An accelerator such as nvidia-l4, or a machine type.")]


@app.command()
def show(
    stack: Stack = "local",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Show what exists in the cloud, and the faults in force."""
    with told():
        places = _places(stack)
        records, now = Store(places.cloud).read(), faults.read(places.cloud)
        if as_json:
            print(json.dumps(as_values(records, now), indent=2))
        else:
            print_cloud(records, now, Console(highlight=False, soft_wrap=False))


@app.command()
def edit(
    name: Annotated[str, typer.Argument(help="A resource by its name, or how its ID ends.")],
    change: Annotated[
        str, typer.Argument(help="FIELD=VALUE, such as nodeConfig.labels.team=b or nodeCount=3.")
    ],
    stack: Stack = "local",
) -> None:
    """Change a resource by hand, as somebody does in the console. The next refresh sees it."""
    with told() as progress:
        places = _places(stack)
        record = found(Store(places.cloud).read(), name)
        field, _, value = change.partition("=")
        cloud_of(places).edit(record.id, edited(record, field, value))
        progress.say(f"{record.id}: {field} is {value}")


@app.command()
def pace(
    grow_after: Annotated[float, typer.Option(help="Seconds a pod waits until it gets a node.")] = 10,
    idle_for: Annotated[float, typer.Option(help="Seconds a node is empty until it goes.")] = 20,
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
    """Nothing of an accelerator or machine type is to be had in a zone."""
    _change(stack, faults.with_stockout(zone, hardware))


@fault_app.command()
def quota(
    region: Annotated[str, typer.Argument(help="The region, such as us-central1.")],
    hardware: Hardware,
    limit: Annotated[int, typer.Argument(help="How many of them the region may have.")],
    stack: Stack = "local",
) -> None:
    """Allow at most so many of an accelerator in a region."""
    _change(stack, faults.with_quota(region, hardware, limit))


@fault_app.command()
def conflict(
    cluster: Annotated[str, typer.Argument(help="The name of the cluster in the cloud.")],
    stack: Stack = "local",
) -> None:
    """A cluster (by its name in the cloud) is busy with an operation of somebody else."""
    _change(stack, faults.with_conflict(cluster))


@fault_app.command()
def slow(
    seconds: Annotated[float, typer.Argument(help="How many seconds longer.")], stack: Stack = "local"
) -> None:
    """Every operation takes so many seconds longer."""
    _change(stack, faults.with_delay(seconds))


@fault_app.command()
def clear(stack: Stack = "local") -> None:
    """Nothing fails any more."""
    _change(stack, lambda old: old.cleared)


def _change(stack: str, changed: Callable[[Faults], Faults]) -> None:
    with told() as progress:
        now = faults.change(_places(stack).cloud, changed)
        progress.say("\n".join(faults.lines(now)))


def _places(stack: str) -> StackPlaces:
    places = StackPlaces(project_root(), stack)
    if not stands(places):
        raise SandboxProblem(
            f"stack {stack} has no simulated cloud. `inferfleet sandbox up --stack {stack}` makes it for "
            "clusters with source GKE."
        )
    return places
