"""Whether an engine's command line agrees with its document. It is read here, and never changed.

A flag that disagrees with topology, worker or port is an error, and so is an address that nothing outside of
the pod reaches. What differs from the engine's default and is not among the arguments is a warning, because a
configuration file or an entrypoint may set it; but an engine that is told a part of its worker by arguments
is told the rest there too.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from inferfleet.api.kinds.model_deployment import Engine, ModelDeployment
from inferfleet.api.kinds.workers import Position
from inferfleet.api.problems import Mistake, Problem, Severity
from inferfleet.api.wording import path_of
from inferfleet.fleet.engines.balance import balance, copies_mistakes, undersized
from inferfleet.fleet.engines.ends.end_flags import refused_endings
from inferfleet.fleet.engines.flags import Flags, flags_of, spelling
from inferfleet.fleet.engines.group import Group, argument, joins, lends, missing, numbers
from inferfleet.fleet.engines.place import (
    place_mistakes,
    port_mistakes,
    topology_mistakes,
)
from inferfleet.fleet.engines.proxied import proxy_port_mistakes
from inferfleet.fleet.engines.ready import (
    address_mistake,
    closed_mistakes,
    other_engine,
    proxy_mistake,
    ready_mistakes,
)
from inferfleet.fleet.engines.repeated import (
    Line,
    Spec,
    differences,
    field_of,
    loopback_mistakes,
    number_mistakes,
    spec_differences,
)
from inferfleet.fleet.engines.variables import variable_mistakes
from inferfleet.fleet.engines.words import Command, command_of
from inferfleet.fleet.roles import (
    engine_of,
    listening_port,
    path_of_role,
    proxied_port,
    roles_of,
    template_path,
    workers_of,
)
from inferfleet.fleet.shapes import Shape
from inferfleet.profiles.engines import engine


def startup_of(engine_: Engine) -> int:
    """Return the seconds that a pod may take to load its model: the document's, or its type's default."""
    return engine_.startup or engine(engine_.type).startup


def check(
    deployment: ModelDeployment,
    shapes: Mapping[str, Iterable[Shape]] | None = None,
    *,
    written: Container[tuple[str, Position]] = (),
) -> Iterator[Problem]:
    """Yield what is wrong (errors) or may be missing (warnings) in the engines' command lines.

    `shapes` are those that workers have, by their roles; of a role without one, it is that of its topology.
    For the roles and positions that are `written`, a plugin adds what is missing.
    """
    problems = [
        _problem(deployment, mistake.what, mistake.next_step, path_of(mistake.at))
        for mistake in proxy_port_mistakes(deployment)
    ]
    for role in roles_of(deployment):
        topology = workers_of(deployment, role).topology
        by_topology = Shape(topology.pods_per_worker, topology.gpus_per_pod)
        for shape in (shapes or {}).get(role, (by_topology,)):
            problems += _of_role(deployment, role, shape, written=written)
    # One template for all pods of a worker is read for each position.
    yield from dict.fromkeys(problems)


def disagreements(
    spec: Mapping[str, Any],
    deployment: ModelDeployment,
    *,
    role: str,
    position: Position,
    shape: Shape,
    whole: bool = True,
) -> Iterator[Mistake]:
    """Yield the flags and variables in a pod's spec that contradict its document, worker or port.

    The spec is the one of the document, or one that plugins made of it; places begin with `spec`. The pod is
    in that position of a worker of the shape. Unless the spec is `whole`, nothing is said of what it leaves
    out.
    """
    group = group_of(deployment, role=role, position=position, pods=shape.pods)
    command = command_of(spec)
    flags = flags_of(command, group.table)
    if command.unclosed:
        yield command.unclosed
        return
    # Of flags of another engine nothing is known.
    if other := other_engine(command, group.engine):
        yield other
        return
    yield from number_mistakes(command, flags, group)
    yield from copies_mistakes(command, flags, group.topology, whole=whole)
    yield from place_mistakes(command, flags, group, whole=whole)
    yield from port_mistakes(command, flags, group)
    yield from loopback_mistakes(command, group.table)
    yield from closed_mistakes(command, group)
    if whole and (unheard := address_mistake(command, group)) and unheard[1]:
        yield unheard[0]
    if whole and (taken := proxy_mistake(command, flags, group)):
        yield taken
    yield from refused_endings(command, flags, group.table, engine=group.engine)
    yield from variable_mistakes(spec)


def group_of(deployment: ModelDeployment, *, role: str, position: Position, pods: int) -> Group:
    """Return the place of a role's pods in workers of so many pods."""
    kind = engine_of(deployment, role)
    topology = workers_of(deployment, role).topology
    return Group(
        kind.type,
        topology,
        pods,
        position,
        balance(deployment, role),
        listening_port(deployment, role),
        proxied_port(deployment, role),
    )


def _of_role(
    deployment: ModelDeployment, role: str, shape: Shape, *, written: Container[tuple[str, Position]]
) -> Iterator[Problem]:
    workers, kind = workers_of(deployment, role), engine_of(deployment, role).type
    for mistake in topology_mistakes(deployment, role, shape):
        at = path_of(("workers", "topology", *mistake.at))
        yield _problem(deployment, mistake.what, mistake.next_step, f"{path_of_role(role)}.{at}")
    found: dict[Position, Line] = {}
    told: dict[tuple[str, str], Problem] = {}
    positions: tuple[Position, ...] = ("Entry", "Follower") if shape.pods > 1 else ("Entry",)
    for position in positions:
        template = workers.of(position)
        if template is None:
            yield _problem(
                deployment,
                f"workers have {shape.pods} pods on nodes of {shape.gpus} GPUs, and only the entry has a "
                "template",
                "Write follower.template, or template for all pods",
                f"{path_of_role(role)}.workers.follower",
            )
            continue
        path = template_path(deployment, role, position)
        whole = (role, position) not in written
        for mistake in disagreements(
            template.spec, deployment, role=role, position=position, shape=shape, whole=whole
        ):
            problem = _problem(deployment, mistake.what, mistake.next_step, f"{path}.{path_of(mistake.at)}")
            first = told.setdefault((problem.what, problem.next_step), problem)
            # What is wrong in both templates is one problem with two lines.
            if position == "Follower" and first.path != problem.path and not first.beside:
                told[problem.what, problem.next_step] = replace(first, beside=problem.path)
        group = group_of(deployment, role=role, position=position, pods=shape.pods)
        for mistake in ready_mistakes(template.spec, group, engine_of(deployment, role)):
            at = f"{path}.{path_of(mistake.at)}"
            yield _problem(deployment, mistake.what, mistake.next_step, at, "warning")
        command = command_of(template.spec)
        flags = flags_of(command, engine(kind))
        found[position] = Line(command, flags, whole)
        # The template of all pods lacks for followers what it lacks for entries.
        known = whole and not command.unclosed and not other_engine(command, kind)
        if known and (position == "Entry" or template is not workers.template):
            other: Position = "Follower" if position == "Entry" else "Entry"
            half = shape.pods > 1 and (role, other) in written
            yield from _absent(deployment, group, flags, command, f"{path}.spec", half=half)
    yield from told.values()
    if shape.pods == 1 and workers.follower:
        yield _problem(
            deployment,
            "workers have one pod by their topology, so follower.template is for none",
            "Remove it, or raise the topology",
            f"{path_of_role(role)}.workers.follower",
            "warning",
        )
    if len(found) == 2 and not workers.template:
        specs = {position: template.spec for position in found if (template := workers.of(position))}
        yield from _unalike(deployment, role, found, specs, shape.pods)


def final_differences(
    deployment: ModelDeployment, role: str, entry: Spec, follower: Spec, pods: int
) -> Iterator[Problem]:
    """Yield what plugins made of entry and followers that the pods of a worker must be told alike.

    Both are the specs of pods after their chains.
    """
    table = engine(engine_of(deployment, role).type)
    specs: dict[Position, Spec] = {"Entry": entry, "Follower": follower}
    lines = {
        position: Line(command := command_of(spec), flags_of(command, table))
        for position, spec in specs.items()
    }
    yield from _unalike(deployment, role, lines, specs, pods)


def _unalike(
    deployment: ModelDeployment,
    role: str,
    lines: Mapping[Position, Line],
    specs: Mapping[Position, Spec],
    pods: int,
) -> Iterator[Problem]:
    """Yield what entry and followers say otherwise, in the line of the latter."""
    group = group_of(deployment, role=role, position="Follower", pods=pods)
    at = {position: template_path(deployment, role, position) for position in lines}
    found = [*spec_differences(specs["Entry"], specs["Follower"], group.engine)]
    if not lends(group, lines["Follower"].command):
        told = differences(
            lines["Entry"], lines["Follower"], group.table, all_serve=group.balance != "internal"
        )
        found += told
    for difference in found:
        yield replace(
            _problem(
                deployment,
                difference.what,
                difference.next_step,
                f"{at['Follower']}.{path_of(difference.follower)}",
                difference.severity,
            ),
            beside=f"{at['Entry']}.{path_of(difference.entry)}",
        )


def _problem(
    deployment: ModelDeployment, what: str, next_step: str, path: str, severity: Severity = "error"
) -> Problem:
    key = deployment.metadata.key
    return Problem(what, next_step, path, kind="ModelDeployment", key=key, severity=severity)


def _absent(
    deployment: ModelDeployment, group: Group, flags: Flags, command: Command, path: str, *, half: bool
) -> Iterator[Problem]:
    """Yield what a command line does not show, which an image or a configuration file may set.

    Where a plugin tells the pods in the other position alone what joins them, `half`, that is an error.
    """
    if (unheard := address_mistake(command, group)) and not unheard[1]:
        yield _problem(deployment, unheard[0].what, unheard[0].next_step, path, "warning")
    left_out = missing(group, flags, command)
    values, refused = numbers(group), undersized(command, flags, group.topology)
    behind = proxy_mistake(command, flags, group)
    for flag in left_out:
        if flag.meaning not in values or flag.meaning in refused or (flag.meaning == "port" and behind):
            continue
        name, field = spelling(flag.meaning, group.table), field_of(flag.meaning, proxied=group.proxied)
        yield _problem(
            deployment,
            f"{field} is {flag.value}, but {name} is not among the arguments of the engine",
            f"Add {name} {flag.value}, unless the image or a configuration file sets it",
            path,
            "warning",
        )
    joining = [argument(flag, group.table) for flag in left_out if flag.meaning not in values]
    if joining and half and not joins(group, flags):
        here, there = ("entry", "followers") if group.position == "Entry" else ("followers", "entry")
        yield _problem(
            deployment,
            f"plugin engine-args joins the {there} of a worker to its {here}, and nothing in the command "
            f"line of the {here} joins them to the {there}",
            f"Remove target from the scope of engine-args, or add {' '.join(joining)}",
            path,
        )
    elif joining and not joins(group, flags):
        yield _problem(
            deployment,
            f"{_worker(group)}, and nothing in the command line joins them",
            f"Add {' '.join(joining)}, or plugin engine-args, unless the image sets it",
            path,
            "warning",
        )


def _worker(group: Group) -> str:
    if group.pods == 1:
        return f"a pod has {group.topology.data_local} copies with ports of their own"
    return f"a worker has {group.pods} pods"
