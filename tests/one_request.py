"""What plugins are told of a pod, in tests that are about something else."""

from inferfleet.plugins.chain import TemplateCheck
from inferfleet.plugins.contract import (
    ClassFacts,
    ClusterFacts,
    DeploymentFacts,
    DeviceFacts,
    PoolFacts,
    Request,
    TaintFacts,
)

# Templates of these tests are of no deployment, so there is nothing that they could contradict.
NO_CHECK: TemplateCheck = lambda template: ()  # noqa: E731
GPU = DeviceFacts(
    name="gpu",
    driver="gpu.nvidia.com",
    count=8,
    resource="nvidia.com/gpu",
    attributes={"architecture": "Hopper"},
    capacity={"memory": "80Gi"},
)
NIC = DeviceFacts(name="nic", driver="rdma/ib", count=8, attributes={"linkType": "infiniband"}, capacity={})
REQUEST = Request(
    stack="prod",
    deployment=DeploymentFacts(
        namespace="ml",
        name="web",
        labels={"family": "qwen"},
        replicas=3,
        workers=1,
        pods_per_worker=1,
        tensor=2,
        pipeline=1,
        data=1,
        data_local=1,
        engine="vLLM",
        port=8000,
    ),
    role="decode",
    position="Entry",
    workload="web-decode-h100",
    selector={"inferfleet.dev/deployment": "web", "inferfleet.dev/role": "decode"},
    node_class=ClassFacts(name="h100-8x", labels={}, devices=(GPU, NIC)),
    accelerator=GPU,
    gpus=2,
    cluster=ClusterFacts(
        name="east", source="Existing", state="active", labels={}, gateway="istio", profile="gie-1.5"
    ),
    pool=PoolFacts(
        name="h100",
        node_labels={"inferfleet.dev/pool": "h100"},
        taints=(TaintFacts(key="nvidia.com/gpu", value="", effect="NoSchedule"),),
    ),
)
