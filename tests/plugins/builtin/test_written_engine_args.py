"""engine-args writes the flags that the check of command lines looks for, and leaves those that are there."""

from dataclasses import replace
from typing import Any

import pytest
from inferfleet.plugins.builtin.engine_args import Config, edit
from one_request import REQUEST

from inferfleet.plugins.contract import Edited, PluginError, PodTemplate, Request

LEADER, SIZE, INDEX = (f"$(LWS_{name})" for name in ("LEADER_ADDRESS", "GROUP_SIZE", "WORKER_INDEX"))
NODES = [f"--nnodes={SIZE}", f"--node-rank={INDEX}", f"--master-addr={LEADER}"]

OPEN = "--host=0.0.0.0"


def _request(engine: str = "vLLM", pods: int = 1, *, position: Any = "Entry", **facts: Any) -> Request:
    topology = {"tensor": 1, "pipeline": 1, "data": 1, "data_local": 1, "port": 8000, **facts}
    deployment = replace(REQUEST.deployment, engine=engine, **topology)
    return replace(REQUEST, deployment=deployment, position=position, group_size=pods)


def _template(*args: str, command: tuple[str, ...] = ()) -> PodTemplate:
    container: dict[str, Any] = {"name": "engine", "image": "x"}
    container |= {"command": list(command)} if command else {}
    container |= {"args": list(args)} if args else {}
    return {"metadata": {}, "spec": {"containers": [container]}}


def _written(request: Request, *args: str, command: tuple[str, ...] = (), **config: Any) -> list[str]:
    edited = edit(_template(*args, command=command), request, Config(**config))
    template = edited.template if isinstance(edited, Edited) else edited
    written: list[str] = template["spec"]["containers"][0].get("args", [])
    assert written[: len(args)] == list(args)
    return written[len(args) :]


@pytest.mark.parametrize(
    ("request_", "entry", "follower"),
    [
        (_request(tensor=8), ["--tensor-parallel-size=8"], None),
        (_request(port=9000), ["--port=9000"], None),
        (_request(), [], None),
        (_request(data=4, data_local=4), ["--data-parallel-size=4"], None),
        (
            _request(pods=2, tensor=8, pipeline=2, port=9000),
            ["--tensor-parallel-size=8", "--pipeline-parallel-size=2", "--port=9000", *NODES],
            ["--tensor-parallel-size=8", "--pipeline-parallel-size=2", *NODES, "--headless"],
        ),
        (
            _request(pods=2, tensor=16),
            ["--tensor-parallel-size=16", *NODES],
            ["--tensor-parallel-size=16", *NODES, "--headless"],
        ),
        (
            _request(pods=4, tensor=16, data=2, balance="external"),
            ["--tensor-parallel-size=16", "--data-parallel-size=2", *NODES],
            ["--tensor-parallel-size=16", "--data-parallel-size=2", *NODES, "--headless"],
        ),
        (
            _request(pods=2, data=16, data_local=8, balance="multiPort"),
            [
                "--data-parallel-size=16",
                "--data-parallel-size-local=8",
                "--data-parallel-multi-port-external-lb",
                f"--data-parallel-address={LEADER}",
                f"--node-rank={INDEX}",
            ],
            None,
        ),
        (
            _request(pods=2, tensor=8, data=2, balance="external"),
            [
                "--tensor-parallel-size=8",
                "--data-parallel-size=2",
                f"--data-parallel-address={LEADER}",
                f"--data-parallel-rank={INDEX}",
            ],
            None,
        ),
        (
            _request(pods=2, data=32, data_local=16, balance="hybrid"),
            [
                "--data-parallel-size=32",
                "--data-parallel-size-local=16",
                "--data-parallel-hybrid-lb",
                *NODES,
            ],
            None,
        ),
        (
            _request(pods=2, data=4, data_local=2),
            ["--data-parallel-size=4", "--data-parallel-size-local=2", *NODES],
            ["--data-parallel-size=4", "--data-parallel-size-local=2", *NODES, "--headless"],
        ),
        (
            _request("SGLang", 2, tensor=16, port=30000),
            ["--tensor-parallel-size=16", *NODES[:2], f"--dist-init-addr={LEADER}:20000", OPEN],
            ["--tensor-parallel-size=16", *NODES[:2], f"--dist-init-addr={LEADER}:20000"],
        ),
        (_request("TensorRT-LLM", 2, tensor=8, pipeline=2), ["--tp_size=8", "--pp_size=2", OPEN], []),
        (_request("Triton", port=9000), ["--http-port=9000"], None),
        (_request("Other", 2, tensor=8, pipeline=2), [], None),
    ],
)
def test_each_position_gets_the_flags_of_its_worker(
    request_: Request, entry: list[str], follower: list[str] | None
) -> None:
    assert _written(request_) == entry
    if request_.group_size > 1:
        others = replace(request_, position="Worker")
        assert _written(others) == (entry if follower is None else follower)


def test_a_flag_that_is_written_stays_in_whatever_spelling() -> None:
    request = _request(pods=2, tensor=8, pipeline=2)
    assert _written(request, "-tp", "8", "--pipeline_parallel_size=2", "-n", "2") == NODES[1:]


def test_a_flag_that_does_the_same_is_enough() -> None:
    request = _request(pods=2, data=4, data_local=2, balance="hybrid")
    given = ("-dp=4", "-dpl=2", "-dpa", LEADER, "-dpr", "$(FIRST)")
    assert _written(request, *given) == []


def test_an_address_that_is_written_stays() -> None:
    assert _written(_request("SGLang", port=30000), "--host", "$(POD_IP)") == []
    with pytest.raises(PluginError, match=r"write --host=0\.0\.0\.0 into the script"):
        _written(_request("SGLang", port=30000), command=("sh", "-c", "python3 -m sglang.launch_server"))


def test_ray_joins_pods_by_itself() -> None:
    request = _request(pods=2, tensor=8, pipeline=2)
    ray = "--distributed-executor-backend=ray"
    assert _written(request, ray) == ["--tensor-parallel-size=8", "--pipeline-parallel-size=2"]
    start = ("ray", "start", "--block", f"--address={LEADER}:6379")
    assert _written(replace(request, position="Worker"), command=start, expert_parallel=True) == []


@pytest.mark.parametrize(
    ("request_", "flag"),
    [
        (_request(data=2, data_local=2), "--enable-expert-parallel"),
        (_request("SGLang", tensor=8, port=30000), "--expert-parallel-size=8"),
        (_request("TensorRT-LLM", tensor=8), "--ep_size=8"),
    ],
)
def test_experts_are_spread_where_the_config_says_so(request_: Request, flag: str) -> None:
    assert flag not in _written(request_)
    assert _written(request_, expert_parallel=True)[0] == flag
    assert flag not in _written(request_, flag, expert_parallel=True)


def test_what_cannot_be_written_is_an_error_that_says_where_to_write_it() -> None:
    script = ("sh", "-c", "vllm serve m")
    with pytest.raises(PluginError, match="write --tensor-parallel-size=8 into the script"):
        _written(_request(tensor=8), command=script)
    with pytest.raises(
        PluginError, match="no flag for expert parallelism is known of an engine of type Triton"
    ):
        _written(_request("Triton"), expert_parallel=True)


def test_flags_of_an_unknown_engine_are_not_guessed() -> None:
    edited = edit(_template(), _request("Other", tensor=8), Config())
    assert isinstance(edited, Edited)
    assert edited.remarks == ("of an engine of type Other no flags are known, so none is written",)


@pytest.mark.parametrize("role", ["decode", "prefill"])
@pytest.mark.parametrize(
    ("engine", "connector", "written"),
    [
        ("vLLM", None, {}),
        (
            "vLLM",
            "NIXL",
            {
                "decode": ['--kv-transfer-config={"kv_connector":"NixlConnector","kv_role":"kv_consumer"}'],
                "prefill": ['--kv-transfer-config={"kv_connector":"NixlConnector","kv_role":"kv_producer"}'],
            },
        ),
        (
            "vLLM",
            "Mooncake",
            {
                "decode": [
                    '--kv-transfer-config={"kv_connector":"MooncakeConnector","kv_role":"kv_consumer"}'
                ],
                "prefill": [
                    '--kv-transfer-config={"kv_connector":"MooncakeConnector","kv_role":"kv_producer"}'
                ],
            },
        ),
        ("vLLM", "SharedStorage", {}),
        (
            "SGLang",
            "SGLang",
            {
                "decode": ["--disaggregation-mode=decode", OPEN],
                "prefill": ["--disaggregation-mode=prefill", OPEN],
            },
        ),
    ],
)
def test_each_side_of_a_pair_is_told_how_to_hand_its_cache_on(
    engine: str, connector: Any, written: dict[str, list[str]], role: str
) -> None:
    port = 30000 if engine == "SGLang" else 8000
    request = replace(_request(engine, port=port, connector=connector), role=role)
    assert sorted(_written(request)) == written.get(role, [])
    again = _written(request, *_written(request))
    assert again == []


@pytest.mark.parametrize(
    "args",
    [
        ('--kv-transfer-config={"kv_connector":"NixlConnector","kv_role":"kv_both"}',),
        ("--kv_transfer_config", "{}"),
        ("--kv-transfer-config.kv_connector=NixlConnector", "--kv-transfer-config.kv_role=kv_both"),
        ("--kv-transfer-config", "$(KV)"),
    ],
)
def test_a_config_that_is_written_stays_alone(args: tuple[str, ...]) -> None:
    assert _written(_request(connector="NIXL"), *args) == []


def test_a_script_is_told_what_to_write_into_it_quoted_for_a_shell() -> None:
    request = _request(connector="NIXL")
    with pytest.raises(PluginError) as raised:
        _written(request, command=("sh", "-c", "vllm serve m"))
    config = '--kv-transfer-config={"kv_connector":"NixlConnector","kv_role":"kv_consumer"}'
    assert f"write '{config}' into the script" in str(raised.value)


@pytest.mark.parametrize(
    ("image", "connector", "drain", "spec", "hook", "written"),
    [
        ("vllm/vllm-openai:v0.20.0", "NIXL", False, {"terminationGracePeriodSeconds": 130}, 30, 90),
        ("vllm/vllm-openai:v0.20.0", "SharedStorage", False, {"terminationGracePeriodSeconds": 60}, None, 50),
        ("vllm/vllm-openai:v0.20.0", "NIXL", False, {"terminationGracePeriodSeconds": 10}, None, None),
        ("vllm/vllm-openai:v0.20.0", None, False, {"terminationGracePeriodSeconds": 130}, 30, None),
        ("vllm/vllm-openai:v0.20.0", None, True, {"terminationGracePeriodSeconds": 130}, 30, 90),
        ("vllm/vllm-openai:v0.18.0", "NIXL", True, {"terminationGracePeriodSeconds": 130}, 30, None),
        ("ours:1", "NIXL", True, {"terminationGracePeriodSeconds": 130}, 30, None),
    ],
)
def test_requests_in_hand_have_what_the_sleep_leaves_where_vllm_would_abort_them(
    image: str, connector: Any, drain: bool, spec: dict[str, int], hook: int | None, written: int | None
) -> None:
    template = _template()
    template["spec"] |= spec
    container = template["spec"]["containers"][0] | {"image": image}
    if hook:
        container["lifecycle"] = {"preStop": {"sleep": {"seconds": hook}}}
    template["spec"]["containers"][0] = container
    edit(template, _request(connector=connector), Config(drain=drain))
    found = [arg for arg in container.get("args", []) if arg.startswith("--shutdown-timeout")]
    assert found == ([f"--shutdown-timeout={written}"] if written else [])


@pytest.mark.parametrize(("grace", "written"), [(130, ["--exit-timeout-secs=90"]), (70, [])])
def test_triton_is_told_to_wait_only_for_longer_than_it_does_by_itself(
    grace: int, written: list[str]
) -> None:
    template = _template("--http-port=8000")
    template["spec"]["terminationGracePeriodSeconds"] = grace
    container = template["spec"]["containers"][0]
    container["lifecycle"] = {"preStop": {"sleep": {"seconds": 30}}}
    edit(template, _request("Triton"), Config(drain=True))
    assert [arg for arg in container["args"] if "exit" in arg] == written
