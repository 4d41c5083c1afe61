"""The command line of an engine: written where its document declares a model, else passed through.

inferfleet writes it exactly when `model` is declared and the container `engine` has neither command nor args:
program, model, flags, and last `args` as they are. A container with a command of its own gets the same values
as variables, `INFERFLEET_*`, and an image without a model starts itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.workers import ENGINE_ALONE, Position
from inferfleet.documents.wording import shown
from inferfleet.fleet.roles import args_of, engine_of, hands_over, workers_of
from inferfleet.serving.engines import sglang, trtllm, vllm
from inferfleet.serving.engines.drain import ending
from inferfleet.serving.engines.worker import INDEX, LEADER, SIZE, WorkerPod
from inferfleet.tables.engines import BOOTSTRAP_PORT

_PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "vLLM": ("vllm", "serve"),
    "SGLang": ("python3", "-m", "sglang.launch_server"),
    "TensorRT-LLM": ("trtllm-serve",),
}
# A token by which libraries of Hugging Face download (huggingface_hub, environment_variables.md).
TOKEN = "HF_TOKEN"


@dataclass(frozen=True)
class CommandLine:
    """The command and args of a container: what is not written, the image's own program, is empty."""

    command: tuple[str, ...]
    args: tuple[str, ...]


def has_own_command(deployment: ModelDeployment, role: str, position: Position = "Entry") -> bool:
    """Return whether the template of these pods has a command line of its own."""
    template = workers_of(deployment, role).of(position)
    return template is not None and any(template.engine.get(part) for part in ("command", "args"))


def is_written(deployment: ModelDeployment, role: str, position: Position = "Entry") -> bool:
    """Return whether inferfleet writes the command line of these pods."""
    declared = engine_of(deployment, role).model is not None
    return declared and not has_own_command(deployment, role, position)


def command_line(pod: WorkerPod) -> CommandLine | None:
    """Return the written command line of a pod, None where its template or image has the program."""
    if not is_written(pod.deployment, pod.role, pod.position) or unwritable(
        pod.deployment, pod.role, pod.pods
    ):
        return None
    engine = pod.engine
    program = engine.program or _PROGRAMS[engine.type]
    args = (*flags(pod), *args_of(pod.deployment, pod.role))
    return CommandLine(() if program == "Image" else tuple(program), args)


def flags(pod: WorkerPod) -> tuple[str, ...]:
    """Return what inferfleet writes behind the program, before the team's own `args`."""
    if pod.engine.type == "SGLang":
        return tuple(sglang.arguments(pod))
    if pod.engine.type == "TensorRT-LLM":
        return tuple(trtllm.arguments(pod))
    return tuple(vllm.arguments(pod, drain=_drain(pod)))


def fields(pod: WorkerPod) -> Mapping[str, str]:
    """Return the flags that are inferfleet's for such a pod, with the field that says each, "" for none."""
    if pod.engine.type == "SGLang":
        return sglang.FIELDS
    if pod.engine.type == "TensorRT-LLM":
        return trtllm.FIELDS
    return vllm.FIELDS | ({vllm.TRANSFER: "prefill"} if vllm.transfer_config(pod) else {})


def unwritable(deployment: ModelDeployment, role: str, pods: int) -> str | None:
    """Return why no command line is written for workers of so many pods, None where one is."""
    engine, topology = engine_of(deployment, role), workers_of(deployment, role).topology
    if engine.type not in _PROGRAMS:
        return f"for type {engine.type} no command line is written"
    if engine.type == "TensorRT-LLM" and (pods > 1 or topology.data > 1):
        return (
            "for TensorRT-LLM in several pods, or with copies, no command line is written: mpirun starts it"
        )
    if engine.type == "SGLang" and topology.data > 1 and pods > 1:
        return "for SGLang with topology.data over several pods no command line is written"
    if engine.type == "TensorRT-LLM" and hands_over(deployment, role):
        return "for TensorRT-LLM with prefill apart no command line is written"
    return None


def example(deployment: ModelDeployment, role: str) -> str:
    """Return a command to begin from where none is written, as YAML."""
    engine = engine_of(deployment, role)
    program = {
        "SGLang": (*_PROGRAMS["SGLang"], "--model-path=MODEL", "--host=0.0.0.0", "--port=PORT"),
        "TensorRT-LLM": ("trtllm-llmapi-launch", "trtllm-serve", "MODEL", "--host=0.0.0.0", "--port=PORT"),
        "Triton": ("tritonserver", "--model-repository=MODEL", "--http-port=PORT"),
        "Other": ("PROGRAM", "--model=MODEL", "--port=PORT"),
    }[engine.type]
    model = engine.model.repository if engine.model else "MODEL"
    words = [word.replace("MODEL", shown(model)).replace("PORT", "$(INFERFLEET_PORT)") for word in program]
    return f"command: [{', '.join(words)}]"


def variables(pod: WorkerPod) -> Iterator[dict[str, Any]]:
    """Yield the variables of an engine's container: a token, and what a command of one's own may use.

    Their values follow from declared fields. Those of a group refer to variables that its controller sets
    before all others.
    """
    engine = pod.engine
    if engine.model and engine.model.token:
        ref = engine.model.token.secret_ref
        source = {"secretKeyRef": {"name": ref.name, "key": ref.key}}
        yield {"name": TOKEN, "valueFrom": source}
    if has_own_command(pod.deployment, pod.role, pod.position):
        yield from ({"name": f"INFERFLEET_{name}", "value": value} for name, value in _declared(pod))


def _declared(pod: WorkerPod) -> Iterator[tuple[str, str]]:
    engine, topology = pod.engine, pod.topology
    if engine.model:
        yield "MODEL", engine.model.repository
    if engine.served_names:
        yield "SERVED_NAMES", " ".join(engine.served_names)
    yield "PORT", str(pod.port)
    for name in ("tensor", "pipeline", "data", "data_local"):
        yield name.upper(), str(getattr(topology, name))
    yield "DRAIN", str(_drain(pod))
    if pod.pods > 1:
        yield "LEADER", LEADER
        yield "RANK", INDEX
        yield "PODS", SIZE
    if hands_over(pod.deployment, pod.role):
        yield "BOOTSTRAP_PORT", str(BOOTSTRAP_PORT)


def _drain(pod: WorkerPod) -> int:
    template = workers_of(pod.deployment, pod.role).of(pod.position) or ENGINE_ALONE
    return ending(pod.engine, template.spec).drain
