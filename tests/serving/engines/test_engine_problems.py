"""What is wrong with a declared engine: field, words and next step of each problem."""

from typing import Any

import pytest
from declared import MODEL, declared

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.roles import roles_of, workers_of
from inferfleet.serving.engines.check import engine_problems

ENGINE = "spec.workers.template.spec.containers[0]"
PREFILL = {"workers": {"topology": {"tensor": 1}}}
OWN = {"command": ["vllm", "serve", MODEL]}
CHANGE = "Change one of the two"
BOTH = "Remove one of the two"


def _said(
    document: ModelDeployment, *, pods: dict[str, list[int]] | None = None
) -> list[tuple[str, str, str, str]]:
    sizes = {role: [workers_of(document, role).topology.pods_per_worker] for role in roles_of(document)}
    problems = list(engine_problems(document, pods or sizes))
    assert {(problem.kind, problem.key) for problem in problems} <= {("ModelDeployment", "ml/qwen")}
    return [(problem.severity, problem.path, problem.what, problem.next_step) for problem in problems]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"engine": {"model": None}, "container": {"image": "nim:1"}},
        {"engine": {"model": None, "image": "nim:1"}},
        {"engine": {"model": None}, "container": {"command": ["/opt/start"]}},
        {"engine": {"type": "Other", "model": None, "image": "own:1"}},
        {"engine": {"version": "0.32", "args": ["--max-num-seqs=64"], "drain": "5m"}},
        {"engine": {"drain": "60s"}, "pod": {"terminationGracePeriodSeconds": 100}},
        {"prefill": {**PREFILL, "options": {"kv_buffer_size": 1}}},
        {"prefill": PREFILL, "engine": {"type": "SGLang"}},
        {"container": OWN},
        {"engine": {"type": "Triton", "model": None}, "container": {"command": ["tritonserver"]}},
    ],
    ids=str,
)
def test_nothing_is_wrong(fields: dict[str, Any]) -> None:
    assert _said(declared(**fields)) == []


UNSTARTED = (
    "error",
    "spec.engine",
    "nothing says what the engine runs",
    "Write engine: {model: NAME}, or an image that starts itself, or a command in the template",
)


@pytest.mark.parametrize(
    ("fields", "path", "what", "step"),
    [
        ({"engine": {"model": None}}, *UNSTARTED[1:]),
        (
            {"engine": {"type": "Triton"}},
            "spec.engine.model",
            "for type Triton no command line is written",
            f"Write a command of your own in {ENGINE}, such as command: [tritonserver, "
            f"--model-repository={MODEL}, --http-port=$(INFERFLEET_PORT)]",
        ),
        (
            {"engine": {"program": ["vllm", "serve"]}, "container": OWN},
            "spec.engine.program",
            "program is for the command that inferfleet writes, and the template has a command of its own",
            BOTH,
        ),
        (
            {"engine": {"image": "vllm:2"}, "container": {"image": "vllm:1"}},
            "spec.engine.image",
            "the document declares image 'vllm:2', and the container in spec.workers.template has 'vllm:1'",
            BOTH,
        ),
        (
            {"engine": {"type": "SGLang", "servedNames": ["a", "b"]}},
            "spec.engine.servedNames",
            "SGLang serves a model under one name, and servedNames has 2",
            "Keep one of them",
        ),
        (
            {"engine": {"type": "TensorRT-LLM", "servedNames": ["a"]}},
            "spec.engine.servedNames",
            "trtllm-serve serves a model under the name of its folder or repository",
            "Remove it",
        ),
        (
            {
                "engine": {"type": "SGLang"},
                "topology": {"tensor": 2, "data": 2, "dataLocal": 2, "attention": 2},
            },
            "spec.workers.topology.attention",
            "topology.data and topology.attention are two ways to have copies, and SGLang takes one",
            "Remove one of the two",
        ),
        (
            {"engine": {"version": "0.23.2"}},
            "spec.engine.version",
            "commands of vLLM are written from version 0.24 on, not for 0.23.2",
            "Write version: '0.24' or newer, or a command of your own in the template",
        ),
        (
            {"engine": {"type": "SGLang", "version": "0.5.9"}},
            "spec.engine.version",
            "commands of SGLang are written from version 0.5.23 on, not for 0.5.9",
            "Write version: '0.5.23' or newer, or a command of your own in the template",
        ),
        (
            {"engine": {"drain": "60s"}, "pod": {"terminationGracePeriodSeconds": 90}},
            "spec.engine.drain",
            "drain is 60 s after a pause of 30 s, and terminationGracePeriodSeconds of "
            "spec.workers.template is 90",
            "Remove terminationGracePeriodSeconds, or write 100",
        ),
        (
            {"engine": {"args": ["--x"]}, "container": OWN},
            "spec.engine.args",
            "args are appended to the command that inferfleet writes, and the template has a command of its "
            "own",
            "Write them into the template's command, or declare engine.model",
        ),
        (
            {"engine": {"model": None, "image": "nim:1", "args": ["--x"]}},
            "spec.engine.args",
            "args are appended to the command that inferfleet writes, and no model is declared",
            "Write them into the template's command, or declare engine.model",
        ),
        (
            {"engine": {"args": ["--max-num-seqs=8", "--port", "9000"]}},
            "spec.engine.args[1]",
            "--port is for inferfleet to write",
            "Remove it, and write engine.port",
        ),
        (
            {"engine": {"args": ["--grpc"]}},
            "spec.engine.args[0]",
            "--grpc serves gRPC, and gateways and probes reach engines by HTTP/1.1",
            "Remove it",
        ),
        (
            {"engine": {"type": "SGLang", "args": ["--grpc-mode"]}},
            "spec.engine.args[0]",
            "--grpc-mode serves gRPC, and gateways and probes reach engines by HTTP/1.1",
            "Remove it",
        ),
        (
            {"engine": {"args": ["--tensor_parallel_size=2"]}, "topology": {"tensor": 2}},
            "spec.engine.args[0]",
            "--tensor_parallel_size is for inferfleet to write",
            "Remove it, and write topology.tensor",
        ),
        (
            {"engine": {"args": ["--headless"]}, "topology": {"tensor": 8, "pipeline": 2}},
            "spec.engine.args[0]",
            "--headless is for inferfleet to write",
            "Remove it, and write workers.balance",
        ),
        (
            {"prefill": {**PREFILL, "args": ["--kv-transfer-config={}"]}},
            "spec.prefill.args[0]",
            "--kv-transfer-config is for inferfleet to write",
            "Remove it, and write prefill",
        ),
        (
            {"prefill": PREFILL, "engine": {"type": "TensorRT-LLM", "model": None, "image": "trt:1"}},
            "spec.prefill",
            "prefill apart from decode is not offered for engines of type TensorRT-LLM",
            "Remove prefill, or write type: vLLM, SGLang, Other",
        ),
        (
            {"prefill": {**PREFILL, "connector": "SGLang"}},
            "spec.prefill.connector",
            "engines of type vLLM do not hand KV caches on by SGLang",
            "Write NIXL or SharedStorage or Mooncake",
        ),
        (
            {"prefill": {**PREFILL, "connector": "SharedStorage", "options": {"a": 1}}},
            "spec.prefill.options",
            "options are for connectors whose configuration inferfleet writes, and SharedStorage is none",
            "Write the engine's own flags in args",
        ),
        (
            {"prefill": {**PREFILL, "options": {"kv_role": "kv_both"}}},
            "spec.prefill.options.kv_role",
            "kv_role follows from connector and role",
            "Remove it, or write connector",
        ),
        (
            {"container": {"command": ["vllm", "serve", MODEL, "--port=9000"]}},
            ENGINE,
            "--port is 9000, and engine.port of the document is 8000",
            CHANGE,
        ),
    ],
    ids=str,
)
def test_each_error_is_told_once_with_its_field(
    fields: dict[str, Any], path: str, what: str, step: str
) -> None:
    assert _said(declared(**fields)) == [("error", path, what, step)]


def test_what_cannot_be_written_on_the_nodes_of_one_pool_is_told() -> None:
    document = declared({"tensor": 16}, engine={"type": "TensorRT-LLM"})
    [(severity, path, what, _)] = _said(document, pods={"decode": [1, 2]})
    assert (severity, path, what) == (
        "error",
        "spec.engine.model",
        "for TensorRT-LLM in several pods, or with copies, no command line is written: mpirun starts it",
    )


def test_args_that_would_end_the_engine_are_warned_of() -> None:
    assert _said(declared(engine={"args": ["--seed=1", "--max-num-sqs=8"]})) == [
        (
            "warning",
            "spec.engine.args[1]",
            "'--max-num-sqs' is no flag of vLLM 0.32.0, which ends with it",
            "Did you mean --max-num-seqs?",
        )
    ]


def test_a_template_for_followers_that_no_worker_has_is_warned_of() -> None:
    template = {"template": {"spec": {"containers": [{"name": "engine"}]}}}
    assert _said(declared(workers={"entry": template, "follower": template})) == [
        (
            "warning",
            "spec.workers.follower",
            "workers have one pod by their topology, so follower.template is for none",
            "Remove it, or raise the topology",
        )
    ]


def test_a_role_with_an_engine_of_its_own_is_told_at_its_own_field() -> None:
    role = {"workers": {"topology": {"tensor": 1}}, "engine": {"model": "m", "version": "0.1"}}
    [(_, path, what, _)] = _said(declared(roles={"encode": role}))
    assert (path, what) == (
        "spec.roles.encode.engine.version",
        "commands of vLLM are written from version 0.24 on, not for 0.1",
    )


def test_a_command_of_both_positions_is_told_once_and_each_of_two_at_its_own() -> None:
    topology = {"tensor": 8, "pipeline": 2}
    sizes = ["-tp=8", "-pp=4"]
    one = declared(topology, container={"command": [*OWN["command"], *sizes]})
    wrong = "--pipeline-parallel-size is 4, and topology.pipeline of the document is 2"
    assert [(path, what) for _, path, what, _ in _said(one)] == [(ENGINE, wrong)]

    def template(*flags: str) -> dict[str, Any]:
        container = {"name": "engine", "command": [*OWN["command"], "-tp=8", *flags]}
        return {"template": {"spec": {"containers": [container]}}}

    apart = declared(topology, workers={"entry": template("-pp=2"), "follower": template("-pp=4")})
    assert [(path, what) for _, path, what, _ in _said(apart)] == [
        ("spec.workers.follower.template.spec.containers[0]", wrong)
    ]


def test_all_that_is_wrong_comes_at_once() -> None:
    document = declared(
        engine={"version": "0.1", "image": "vllm:2", "drain": "60s"},
        container={"image": "vllm:1"},
        pod={"terminationGracePeriodSeconds": 20},
        prefill={**PREFILL, "options": {"kv_connector": "a"}},
    )
    assert [path for _, path, _, _ in _said(document)] == [
        "spec.prefill.options.kv_connector",
        "spec.engine.image",
        "spec.engine.version",
        "spec.engine.drain",
    ]


@pytest.mark.parametrize(
    ("port", "topology", "why"),
    [
        (29501, {"tensor": 8, "pipeline": 2}, "serves on port 29501, and pods of a worker meet there"),
        (
            9250,
            {"tensor": 1, "data": 16, "dataLocal": 8},
            "serves on port 9256, and the health of all copies of a pod is told there",
        ),
    ],
)
def test_a_port_that_inferfleet_takes_is_none_for_the_engine(
    port: int, topology: dict[str, int], why: str
) -> None:
    pods = topology.get("pipeline", 1) * topology.get("data", 1) // topology.get("dataLocal", 1)
    document = declared(topology, engine={"port": port})
    found = list(engine_problems(document, {"decode": [pods]}))
    assert [(problem.path, problem.what) for problem in found] == [("spec.engine.port", f"the engine {why}")]


@pytest.mark.parametrize(
    ("fields", "path", "what"),
    [
        (
            {"topology": {"tensor": 8, "attention": 8}},
            "spec.workers.topology.attention",
            "topology.attention is SGLang's, and the engine is vLLM",
        ),
        (
            {
                "engine": {"type": "SGLang"},
                "topology": {"tensor": 1, "data": 2, "dataLocal": 2},
                "workers": {"balance": "Port"},
            },
            "spec.workers.balance",
            "balance Port is written for vLLM, and the engine is SGLang",
        ),
        (
            {"engine": {"revision": "1"}},
            "spec.engine.revision",
            "revision names the form of a KV cache that prefill hands on, and there is no prefill",
        ),
        (
            {
                "engine": {"model": {"repository": "m", "token": {"secretRef": {"name": "hf"}}}},
                "container": {"env": [{"name": "HF_TOKEN", "value": "x"}]},
            },
            "spec.engine.model.token",
            "the document declares a token of the model, and its template has a variable HF_TOKEN",
        ),
    ],
)
def test_a_field_that_does_nothing_or_clashes_is_told_at_it(
    fields: dict[str, Any], path: str, what: str
) -> None:
    assert [(problem[1], problem[2]) for problem in _said(declared(**fields))] == [(path, what)]
