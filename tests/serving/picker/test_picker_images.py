"""Images of pickers of deployments with prefill apart: a wrong one is not taken in silence."""

from collections.abc import Callable
from typing import Any

from one_picker import picker as one_picker

from inferfleet.documents.kinds.inference_cluster import InferenceCluster, Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.problems import Problem
from inferfleet.serving.picker_check import picker_problems
from inferfleet.tables.pickers import picker

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]

ROUTER = picker("gie-1.5", disaggregated=True).epp_image
TEMPLATE = {"spec": {"containers": [{"name": "engine", "image": "vllm:1"}]}}
WORKERS = {"topology": {"tensor": 2}, "template": TEMPLATE}


def test_the_image_of_a_cluster_s_usual_pickers_is_not_taken_in_silence(
    deployment: Make, serving: Serve
) -> None:
    row = picker("gie-1.5", disaggregated=True)
    said = [
        list(
            picker_problems(
                one_picker(_apart(deployment), profile=row.name), _cluster(serving(images=images))
            )
        )
        for images in ({"epp": "mirror/epp:1"}, {"epp": "mirror/epp:1", "prefillEpp": "mirror/s:1"}, {})
    ]
    assert said == [
        [
            Problem(
                "deployment 'ml/qwen' has prefill apart, whose endpoint picker is another program "
                f"({ROUTER}) than that of serving.images.epp",
                "Write serving.images.prefillEpp too, or endpointPicker.image in the deployment",
                "spec.serving.images.epp",
                kind="InferenceCluster",
                key="east",
            )
        ],
        [],
        [],
    ]


def _apart(deployment: Make, **prefill: Any) -> ModelDeployment:
    return deployment(engine={"type": "vLLM"}, prefill={"workers": WORKERS, **prefill})


def _cluster(serving: Serving) -> InferenceCluster:
    spec = {
        "cluster": {"source": "Existing", "existing": {"kubeconfig": {"configKey": "east"}}},
        "nodePools": [{"name": "l4", "className": "l4", "nodeCount": 1}],
        "serving": serving,
    }
    return InferenceCluster.model_validate({"metadata": {"name": "east"}, "spec": spec})
