"""What is wrong with the engines that a document declares: fields, `args`, and a command of its own."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.workers import Position, positions_of
from inferfleet.documents.pods.template import engine_container
from inferfleet.documents.problems import Mistake, Problem, Severity
from inferfleet.documents.wording import listing, named, nearest, one_of, shown
from inferfleet.documents.work import spend
from inferfleet.fleet.adapters import loads_while_serving
from inferfleet.fleet.roles import (
    DECODE,
    args_of,
    balance,
    connector,
    declared_image,
    engine_of,
    listening_port,
    path_of_args,
    path_of_engine,
    path_of_role,
    proxied_port,
    request_ports,
    roles_of,
    supervisor_port,
    template_path,
    version_of,
    workers_of,
)
from inferfleet.serving.engines import command_line
from inferfleet.serving.engines.command_line import (
    ADAPTERS_PORT,
    GRPC_FLAGS,
    TOKEN,
    WorkerPod,
    example,
    fields_by_flag,
    has_own_command,
    is_written,
    unwritable,
)
from inferfleet.serving.engines.drain import ending, lacking_grace
from inferfleet.serving.engines.own_command import differences
from inferfleet.serving.engines.parser import Fault, faults, json_of
from inferfleet.tables.engines import CONNECTORS, engine
from inferfleet.tables.flags import Flag, FlagTable, flags
from inferfleet.tables.flags import flags as table_of

# Units for one argument, against the table of all flags of an engine.
_EACH_ARGUMENT = 300
# What values of a flag are, in words.
_TAKES = {
    "int": "a whole number",
    "float": "a number",
    "size": "a whole number, such as 4096 or 4k",
    "size or auto": "a whole number, such as 4096 or 4k, or auto",
    "JSON": "JSON",
    "object": "a JSON object",
    "text or JSON": "JSON where it is in braces",
}


def engine_problems(deployment: ModelDeployment, pods: Mapping[str, Iterable[int]]) -> Iterator[Problem]:
    """Yield what is wrong with the engines of a deployment, each thing once: roles may share an engine.

    `pods` are the numbers of pods that workers of each role may have on the pools for it.
    """
    problems = list(_prefill_problems(deployment))
    for role in roles_of(deployment):
        sizes = sorted(set(pods.get(role, ()))) or [workers_of(deployment, role).topology.pods_per_worker]
        found = [
            *_program_problems(deployment, role, sizes),
            *_declaration_problems(deployment, role),
            *_version_problems(deployment, role),
            *_drain_problems(deployment, role),
            *_port_problems(deployment, role, sizes),
            *_follower_problems(deployment, role, sizes),
        ]
        problems += found
        if not any(problem.severity == "error" for problem in found):
            problems += _args_problems(deployment, role, sizes[-1])
            problems += _own_command_problems(deployment, role, sizes[-1])
    yield from dict.fromkeys(problems)


def _prefill_problems(deployment: ModelDeployment) -> Iterator[Problem]:
    prefill = deployment.spec.prefill
    if prefill is None:
        return
    kind, chosen = deployment.spec.engine.type, connector(deployment)
    if kind not in CONNECTORS:
        what = f"prefill apart from decode is not offered for engines of type {kind}"
        yield _problem(
            deployment, "spec.prefill", what, f"Remove prefill, or write type: {listing(CONNECTORS)}"
        )
    elif chosen not in CONNECTORS[kind]:
        what = f"engines of type {kind} do not hand KV caches on by {chosen}"
        yield _problem(deployment, "spec.prefill.connector", what, f"Write {' or '.join(CONNECTORS[kind])}")
    if prefill.options and chosen not in command_line.CONNECTORS:
        what = f"options are for connectors whose configuration inferfleet writes, and {chosen} is none"
        yield _problem(deployment, "spec.prefill.options", what, "Write the engine's own flags in args")
    for key in command_line.TRANSFER_KEYS:
        if key in prefill.options:
            what = f"{key} follows from connector and role"
            yield _problem(deployment, f"spec.prefill.options.{key}", what, "Remove it, or write connector")


def _program_problems(deployment: ModelDeployment, role: str, sizes: Sequence[int]) -> Iterator[Problem]:
    """Yield an engine for which nothing says what it runs."""
    declared = engine_of(deployment, role)
    own_command, path = has_own_command(deployment, role), path_of_engine(deployment, role)
    template = workers_of(deployment, role).entry_template
    if declared.model is None:
        if not own_command and "image" not in template.engine and declared_image(deployment, role) is None:
            yield _problem(
                deployment,
                path,
                "nothing says what the engine runs",
                "Write engine: {model: NAME}, or an image that starts itself, or a command in the template",
            )
    elif not own_command:
        why = next((why for pods in sizes if (why := unwritable(deployment, role, pods))), None)
        if why:
            container_path = _path_of_container(deployment, role)
            step = f"Write a command of your own in {container_path}, such as {example(deployment, role)}"
            yield _problem(deployment, f"{path}.model", why, step)
    if own_command and declared.program:
        yield _problem(
            deployment,
            f"{path}.program",
            "program is for the command that inferfleet writes, and the template has a command of its own",
            "Remove one of the two",
        )


def _declaration_problems(deployment: ModelDeployment, role: str) -> Iterator[Problem]:
    """Yield fields that clash with the template, or that the engine's type cannot be told."""
    declared = engine_of(deployment, role)
    path, topology = path_of_engine(deployment, role), workers_of(deployment, role).topology
    image = workers_of(deployment, role).entry_template.engine.get("image")
    image_of_document = declared_image(deployment, role)
    if image and image_of_document:
        yield _problem(
            deployment,
            f"{path}.image",
            f"the document declares image {shown(image_of_document)!r}, and the container in "
            f"{template_path(deployment, role)} has {shown(image)!r}",
            "Remove one of the two",
        )
    if declared.revision and deployment.spec.prefill is None:
        what = "revision names the form of a KV cache that prefill hands on, and there is no prefill"
        yield _problem(deployment, f"{path}.revision", what, "Remove it")
    if declared.model and declared.model.token and _names_variable(deployment, role, TOKEN):
        what = f"the document declares a token of the model, and its template has a variable {TOKEN}"
        yield _problem(deployment, f"{path}.model.token", what, "Remove one of the two")
    if not is_written(deployment, role):
        return
    of_workers = f"{path_of_role(role)}.workers"
    if declared.type != "vLLM" and (chosen := balance(deployment, role)) != "Engine":
        what = f"balance {chosen} is written for vLLM, and the engine is {declared.type}"
        yield _problem(deployment, f"{of_workers}.balance", what, "Remove balance")
    if declared.type != "SGLang" and topology.attention > 1:
        what = f"topology.attention is SGLang's, and the engine is {declared.type}"
        step = "Remove it, or write type: SGLang"
        yield _problem(deployment, f"{of_workers}.topology.attention", what, step)
    if declared.type == "SGLang" and len(declared.served_names) > 1:
        what = f"SGLang serves a model under one name, and servedNames has {len(declared.served_names)}"
        yield _problem(deployment, f"{path}.servedNames", what, "Keep one of them")
    if declared.type == "TensorRT-LLM" and declared.served_names:
        what = "trtllm-serve serves a model under the name of its folder or repository"
        yield _problem(deployment, f"{path}.servedNames", what, "Remove it")
    if topology.data > 1 and declared.type == "SGLang" and topology.attention > 1:
        what = "topology.data and topology.attention are two ways to have copies, and SGLang takes one"
        yield _problem(deployment, f"{of_workers}.topology.attention", what, "Remove one of the two")


def _names_variable(deployment: ModelDeployment, role: str, name: str) -> bool:
    container = workers_of(deployment, role).entry_template.engine
    return any(variable["name"] == name for variable in container.get("env", []))


def _port_problems(deployment: ModelDeployment, role: str, sizes: Sequence[int]) -> Iterator[Problem]:
    """Yield a problem where the engine would listen on a port that the pod needs for the other pods of its
    worker, the supervisor's health, or the routing proxy.
    """
    meeting = engine(engine_of(deployment, role).type).group_ports if max(sizes) > 1 else ()
    taken = dict.fromkeys(meeting, "pods of a worker meet there")
    if loads_while_serving(engine_of(deployment, role)):
        taken[ADAPTERS_PORT] = "the sidecar that has adapters loaded answers probes there"
    if supervisor := supervisor_port(deployment, role):
        taken[supervisor] = "the health of all copies of a pod is told there"
    if role == DECODE and deployment.spec.prefill and proxied_port(deployment, role):
        taken |= dict.fromkeys(request_ports(deployment, role), "the routing proxy takes requests there")
    first = listening_port(deployment, role)
    of_engine = range(first, first + len(request_ports(deployment, role)))
    clash = next((port for port in of_engine if port in taken), None)
    if clash is not None:
        what = f"the engine serves on port {clash}, and {taken[clash]}"
        yield _problem(deployment, f"{path_of_engine(deployment, role)}.port", what, "Write another port")


def _version_problems(deployment: ModelDeployment, role: str) -> Iterator[Problem]:
    declared = engine_of(deployment, role)
    path, oldest = path_of_engine(deployment, role), engine(declared.type).oldest
    if (
        declared.version
        and oldest
        and is_written(deployment, role)
        and _numbers(declared.version) < _numbers(oldest)
    ):
        what = f"commands of {declared.type} are written from version {oldest} on, not for {declared.version}"
        step = f"Write version: {oldest!r} or newer, or a command of your own in the template"
        yield _problem(deployment, f"{path}.version", what, step)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def _drain_problems(deployment: ModelDeployment, role: str) -> Iterator[Problem]:
    declared = engine_of(deployment, role)
    spec = workers_of(deployment, role).entry_template.spec
    if needed := lacking_grace(declared, spec):
        end = ending(declared, spec)
        yield _problem(
            deployment,
            f"{path_of_engine(deployment, role)}.drain",
            f"drain is {end.drain} s after a pause of {end.pause} s, and terminationGracePeriodSeconds of "
            f"{template_path(deployment, role)} is {end.grace}",
            f"Remove terminationGracePeriodSeconds, or write {needed}",
        )


def _follower_problems(deployment: ModelDeployment, role: str, sizes: Sequence[int]) -> Iterator[Problem]:
    if workers_of(deployment, role).follower and max(sizes) == 1:
        what = "workers have one pod by their topology, so follower.template is for none"
        path = f"{path_of_role(role)}.workers.follower"
        yield _problem(deployment, path, what, "Remove it, or raise the topology", "warning")


def _args_problems(deployment: ModelDeployment, role: str, pods: int) -> Iterator[Problem]:
    given = args_of(deployment, role)
    if not given:
        return
    spend(_EACH_ARGUMENT * len(given), "checking engine.args")
    path = path_of_args(deployment, role)
    if unwritable(deployment, role, pods):
        return
    if not is_written(deployment, role):
        why = (
            "the template has a command of its own"
            if has_own_command(deployment, role)
            else "no model is declared"
        )
        what = f"args are appended to the command that inferfleet writes, and {why}"
        yield _problem(
            deployment, path, what, "Write them into the template's command, or declare engine.model"
        )
        return
    declared = engine_of(deployment, role)
    version = version_of(deployment, role) or ""
    # Names of one flag are the same from version to version, as far as is known.
    table = table_of(declared.type, version) or table_of(declared.type, engine(declared.type).version or "")
    ours = fields_by_flag(WorkerPod(deployment, role, "Entry", pods))
    for index, word in enumerate(given):
        options = (*(table.options_of(word) if table else ()), word.partition("=")[0])
        flag = next((option for option in options if option in ours), None)
        if flag and word.startswith("-"):
            name = word.partition("=")[0]
            step = f"Remove it, and write {ours[flag]}" if ours[flag] else "Remove it"
            what = f"{name} is for inferfleet to write"
            if flag in GRPC_FLAGS:
                what = f"{name} serves gRPC, and gateways and probes reach engines by HTTP/1.1"
            yield _problem(deployment, f"{path}[{index}]", what, step)
    for mistake in args_mistakes(declared.type, version, given):
        yield _problem(
            deployment, f"{path}[{mistake.field_path[0]}]", mistake.what, mistake.next_step, "warning"
        )


def _problem(
    deployment: ModelDeployment, path: str, what: str, next_step: str, severity: Severity = "error"
) -> Problem:
    key = deployment.metadata.key
    return Problem(what, next_step, path, kind="ModelDeployment", key=key, severity=severity)


def _path_of_container(deployment: ModelDeployment, role: str, position: Position = "Entry") -> str:
    template = workers_of(deployment, role).of(position)
    place = engine_container(template.spec)[0] if template else 0
    return f"{template_path(deployment, role, position)}.spec.containers[{place}]"


def _own_command_problems(deployment: ModelDeployment, role: str, pods: int) -> Iterator[Problem]:
    seen = set[str]()
    for position in positions_of(pods):
        if not has_own_command(deployment, role, position):
            continue
        template = workers_of(deployment, role).of(position)
        container = template.engine if template else {}
        command, args = (container.get(part) or () for part in ("command", "args"))
        path = _path_of_container(deployment, role, position)
        for mistake, severity in differences(WorkerPod(deployment, role, position, pods), command, args):
            if mistake.what not in seen:
                seen.add(mistake.what)
                yield _problem(deployment, path, mistake.what, mistake.next_step, severity)


def args_mistakes(engine_type: str, version: str, args: Sequence[str]) -> tuple[Mistake, ...]:
    """Return what this version of the engine refuses of `args`, in their order; `at` is the place of a word.

    An engine says so itself, but only once a pod has nodes, and they are billed. Nothing is said of a version
    without a table.
    """
    table = flags(engine_type, version)
    if table is None:
        return ()
    return tuple(_mistake_of_word(table, fault, args[fault.at]) for fault in faults(table, args))


def _mistake_of_word(table: FlagTable, fault: Fault, word: str) -> Mistake:
    engine, at = f"{table.engine} {table.version}", (fault.at,)
    if fault.flag is not None:
        if (key := _unknown_key(fault.flag, fault.value)) is not None:
            what = f"{named(key)} is no key of {fault.flag.options[0]} in {engine}, which ends with it"
            return Mistake(what, one_of(key, fault.flag.keys, "Known keys"), at)
        what = f"{named(fault.value)} is no value of {fault.flag.options[0]} in {engine}, which ends with it"
        return Mistake(what, _right_value(fault.flag, fault.value), at)
    name = (fault.unknown or word).partition("=")[0]
    what = f"{named(name)} is no flag of {engine}, which ends with it"
    if (last := table.removed.get(name)) is not None:
        return Mistake(f"{what}; {last} had it", "Take it out, or write what has taken its place", at)
    if not fault.unknown:
        return Mistake(
            f"{engine} ends with {named(word)}: {shown(fault.why, 200)}", "Correct it as it says", at
        )
    if not name.startswith("-"):
        what = f"{named(word)} belongs to no flag, and {engine} ends with it"
        return Mistake(what, "Write its flag before it, or take it out", at)
    close = nearest(name, (option for flag in table.flags for option in flag.options))
    return Mistake(what, f"Did you mean {close}?" if close else "Take it out", at)


def _unknown_key(flag: Flag, value: str) -> str | None:
    """Return the first key of an object that the flag does not know, None where something else is wrong."""
    if not flag.keys:
        return None
    try:
        found = json_of(value)
    except ValueError:
        return None
    return next((key for key in found if key not in flag.keys), None) if isinstance(found, dict) else None


def _right_value(flag: Flag, value: str) -> str:
    if flag.choices:
        return one_of(value, flag.choices, "Choose one of")
    return f"It takes {_TAKES[flag.kind]}"
