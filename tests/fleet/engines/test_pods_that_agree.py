"""Command lines that tell every pod its place in its worker, in all ways that engines know."""

import pytest
from worker_pods import COPIES, DP, MEETS, NODES, RAY, SGLANG, SIZES, TP_PP, said, worker

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.shapes import Shape


@pytest.mark.parametrize(
    "deployment",
    [
        worker((*SIZES, *NODES), (*SIZES, *NODES, "--headless"), **TP_PP),
        worker((*SIZES, *NODES), (*SIZES, "-n", "2", "-r", "1", *NODES[2:], "--headless"), **TP_PP),
        worker(
            "vllm serve m -tp 8 -pp $LWS_GROUP_SIZE --nnodes $LWS_GROUP_SIZE --node-rank ${LWS_WORKER_INDEX} "
            '--master-addr $LWS_LEADER_ADDRESS $( [ "$LWS_WORKER_INDEX" -gt 0 ] && echo --headless )',
            **TP_PP,
        ),
        worker((*DP, "-dpm", "-r=$(LWS_WORKER_INDEX)"), **COPIES),
        worker((*DP, "-dph", "-dpr", "$(START)"), **COPIES),
        worker(
            "vllm serve -dp 4 -dpl 2 -dph -dpa $LWS_LEADER_ADDRESS -dpr $((LWS_WORKER_INDEX * 2))", **COPIES
        ),
        *(
            worker(f"vllm serve -dp 4 -dpl 2 -dph -dpa $LWS_LEADER_ADDRESS -dpr {start}", **COPIES)
            for start in (
                '"$(( 2 * $LWS_WORKER_INDEX ))"',
                "$(( LWS_WORKER_INDEX * LOCAL ))",
                "$(( LWS_WORKER_INDEX * LOCAL + 0 ))",
                "$(( $LWS_WORKER_INDEX * $LOCAL ))",
            )
        ),
        worker(("-dp=2", "-dpn=$(LWS_WORKER_INDEX)", DP[2]), tensor=1, data=2),
        worker((*DP,), (*DP, "-dpr=2", "--headless"), **COPIES),
        worker((*SGLANG, MEETS), engine="SGLang", tensor=16, pipeline=1),
        worker(
            f"{RAY} leader --ray_cluster_size=$(LWS_GROUP_SIZE); vllm serve m -tp 8 -pp 2",
            f"{RAY} worker --ray_address=$(LWS_LEADER_ADDRESS)",
            **TP_PP,
        ),
        worker(
            "ray start --head && vllm serve m -tp 8 -pp 2 --distributed-executor-backend ray",
            "ray start --block --address=$LWS_LEADER_ADDRESS:6379",
            **TP_PP,
        ),
        worker(
            "ray start --head --port=6379; exec vllm serve m -tp 8 -pp 2 --distributed-executor-backend ray",
            "ray start --block --address=$LWS_LEADER_ADDRESS:6379",
            **TP_PP,
        ),
        worker("python3 -m http.server --port 9999 & exec vllm serve m", tensor=1),
        worker("vllm serve m --port 8001 & exec proxy --port 8000", tensor=1),
        worker(
            *(
                "exec vllm serve m -tp 8 -pp 2 -n $LWS_GROUP_SIZE -r $LWS_WORKER_INDEX "
                f"--master-addr $LWS_LEADER_ADDRESS {last}"
                for last in ("", "--headless")
            ),
            **TP_PP,
        ),
        worker(
            "mpirun --allow-run-as-root -n 16 trtllm-llmapi-launch trtllm-serve m --host 0.0.0.0 "
            "--tp_size 8 --pp_size 2",
            "/usr/sbin/sshd -D",
            engine="TensorRT-LLM",
            **TP_PP,
        ),
        worker(
            (*SIZES, "--nnodes=$(SIZE)", "--node-rank=$(ME)", "--master-addr=$(HEAD)"),
            (*SIZES, "--nnodes=$(SIZE)", "--node-rank=$(ME)", "--master-addr=$(HEAD)", "--headless"),
            env=[
                {"name": "SIZE", "value": "2"},
                {"name": "ME", "value": "$(LWS_WORKER_INDEX)"},
                {"name": "HEAD", "value": "$(LWS_LEADER_ADDRESS)"},
            ],
            **TP_PP,
        ),
    ],
)
def test_nothing_is_said_where_every_pod_is_told_its_place(deployment: ModelDeployment) -> None:
    shape = Shape(2, 8) if deployment.spec.workers.topology.tensor == 16 else None
    assert said(deployment, *([shape] if shape else [])) == ([], [])
