"""Every kind of mistake in a document, and its message."""

import pytest
from fleet_text import BASE, Mistake

from inferfleet.documents import Where

# What is replaced, by what; then line, path, what, next step of the one problem that makes.
CASES = {
    "unknown field": (
        "  replicas: 2", "  replicas: 2\n  clusterSelecter: {}",
        22, "spec.clusterSelecter", "unknown field 'clusterSelecter'", "Did you mean clusterSelector?",
    ),
    "python's name of a field": (
        "className: l4", "className: l4, node_selector: {}",
        14, "spec.nodePools[0].node_selector", "unknown field 'node_selector'", "Did you mean nodeSelector?",
    ),
    "unknown field far from all": (
        "{tensor: 1}", "{tensor: 1, xyz: 2}",
        24, "spec.workers.topology.xyz", "unknown field 'xyz'",
        "Known fields: attention, data, dataLocal, expert, pipeline, tensor",
    ),
    "paused as a deployment is": (
        "  cluster: {source", "  paused: true\n  cluster: {source",
        12, "spec.paused", "unknown field 'paused'", "A cluster is paused by state: paused",
    ),
    "paused as a cluster is": (
        "  replicas: 2", "  replicas: 2\n  state: paused",
        22, "spec.state", "unknown field 'state'",
        "A deployment is paused by paused: true; states are of clusters",
    ),
    "missing field": (
        "{tensor: 1}", "{data: 1}",
        24, "spec.workers.topology.tensor", "field tensor is missing", "Add tensor",
    ),
    "missing block": (
        "spec:\n  node: {cpu: 8, memory: 32Gi}\n  resources: {gpu: {count: 1, memory: 24Gi}}\n", "",
        1, "spec", "field spec is missing", "Add spec",
    ),
    "neither kind of gateway": (
        "gateway: {className: istio}", "gateway: {}",
        15, "spec.serving.gateway", "a gateway has exactly one of className (inferfleet creates it) and ref "
        "(it exists)", "Write one of them",
    ),
    "port of a gateway that exists": (
        "gateway: {className: istio}", "gateway: {ref: {name: shared, namespace: infra}, port: 8080}",
        15, "spec.serving.gateway", "port is for a gateway that inferfleet creates; one that exists "
        "has its own listeners", "Remove port",
    ),
    "port out of range": (
        "gateway: {className: istio}", "gateway: {className: istio, port: 65536}",
        15, "spec.serving.gateway.port", "port must be at most 65535, not 65536", "Change the number",
    ),
    "text for a number": (
        "replicas: 2", 'replicas: "2"',
        21, "spec.replicas", "replicas must be a whole number, not '2'",
        "Write a whole number, without quotes",
    ),
    "boolean for a number": (
        "replicas: 2", "replicas: true",
        21, "spec.replicas", "replicas must be a whole number, not true", "Write a whole number",
    ),
    "number for a label": (
        "tier: prod", "tier: 1.10",
        10, "metadata.labels.tier", "tier must be text, not 1.10", "Quote it",
    ),
    "nothing where a list belongs": (
        "{name: l4, className: l4, nodeCount: 3}", "{name: l4, className: l4, nodeCount: 3, taints: }",
        14, "spec.nodePools[0].taints", "taints must be a list, not nothing",
        "Give it a value, or remove the field",
    ),
    "map for a list": (
        "    - {name: l4, className: l4, nodeCount: 3}", "    {name: l4, className: l4, nodeCount: 3}",
        13, "spec.nodePools", "nodePools must be a list, not a map",
        "Write a list: each entry on a line of its own that begins with '- ', or all in [ ]",
    ),
    "empty list": (
        "  replicas: 2", "  replicas: 2\n  capacityModels: []",
        22, "spec.capacityModels", "capacityModels must not be empty", "Give it a value, or remove the field",
    ),
    "space behind an image of a picker": (
        "engine: {type: vLLM}", "endpointPicker: {image: 'epp:1 '}",
        22, "spec.endpointPicker.image",
        "image 'epp:1 ' must be a name of ASCII characters without blanks", "Change it",
    ),
    "image of a picker with a letter that is not of ASCII": (
        "engine: {type: vLLM}", "endpointPicker: {image: \u0261hcr.io/epp:1}",
        22, "spec.endpointPicker.image",
        "image '\u0261hcr.io/epp:1' must be a name of ASCII characters without blanks", "Change it",
    ),
    "list in a flag": (
        "engine: {type: vLLM}", "endpointPicker: {flags: {v: [1]}}",
        22, "spec.endpointPicker.flags.v",
        "v must be text or a whole number or a number or true or false, not a list",
        "Write text or a whole number or a number or true or false",
    ),
    "number below the bound": (
        "{tensor: 1}", "{tensor: 0}",
        24, "spec.workers.topology.tensor", "tensor must be at least 1, not 0", "Change the number",
    ),
    "number above the bound": (
        "{type: vLLM}", "{port: 70000}",
        22, "spec.engine.port", "port must be at most 65535, not 70000", "Change the number",
    ),
    "not a finite number": (
        "replicas: 2", "replicas: .inf",
        21, "spec.replicas", ".inf is not a finite number", "Write a finite number, or quote it as text",
    ),
    "number of one word in other case": (
        "type: vLLM", "type: vllm",
        22, "spec.engine.type", "type 'vllm' is not one of vLLM, SGLang, TensorRT-LLM, Triton, Other",
        "Did you mean vLLM?",
    ),
    "key of one word in other case": (
        "serving: {", "serving: {images: {engine: {vllm: x}}, ",
        15, "spec.serving.images.engine.vllm",
        "key 'vllm' is not one of vLLM, SGLang, TensorRT-LLM, Triton, Other", "Did you mean vLLM?",
    ),
    "word far from all": (
        "  engine: {type: vLLM}", "  rollout: Blue",
        22, "spec.rollout", "rollout 'Blue' is not one of DeleteFirst, Surge",
        "Choose one: DeleteFirst, Surge",
    ),
    "quantity": (
        "32Gi", "32Gb",
        5, "spec.node.memory", "'32Gb' is not a Kubernetes quantity", "Write 32Gi, or 32G for powers of ten",
    ),
    "negative quantity": (
        "32Gi", "-32Gi",
        5, "spec.node.memory", "memory '-32Gi' is negative", "Write a quantity of at least 0",
    ),
    "duration": (
        "{type: vLLM}", "{startup: soon}",
        22, "spec.engine.startup", "'soon' is not a duration", "Write it like 90s, 30m or 2h",
    ),
    "duration without unit": (
        "{type: vLLM}", "{startup: 90}",
        22, "spec.engine.startup", "startup 90 has no unit", "Write it like 90s, 30m or 2h",
    ),
    "duration too long": (
        "{type: vLLM}", "{startup: 25h}",
        22, "spec.engine.startup", "startup 25h must be between 1s and 24h", "Change it",
    ),
    "name": (
        "name: qwen", "name: Qwen",
        19, "metadata.name",
        "name 'Qwen' must be lowercase letters, digits and '-', start with a letter, not end with '-', "
        "at most 32 characters",
        "Write it like qwen",
    ),
    "label key": (
        "tier: prod", "-tier: prod",
        10, "metadata.labels[\"-tier\"]", "'-tier' is not a Kubernetes label key",
        "Write it like tier or example.com/tier",
    ),
    "label value": (
        "tier: prod", "tier: a b",
        10, "metadata.labels.tier", "'a b' is not a Kubernetes label value",
        "Use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends",
    ),
    "label of our own": (
        "tier: prod", "inferfleet.dev/stack: x",
        10, 'metadata.labels["inferfleet.dev/stack"]',
        "labels under inferfleet.dev/ are reserved for inferfleet",
        "Remove it, or use a prefix of your own",
    ),
    "two pools of one name": (
        "nodeCount: 3}", "nodeCount: 3}\n    - {name: l4, className: l4, nodeCount: 3}",
        15, "spec.nodePools[1].name", "a second pool is named l4", "Rename one",
    ),
    "two pools of the same nodes": (
        "nodeCount: 3}",
        "nodeCount: 3}\n    - {name: b, className: l4, nodeCount: 3, "
        "nodeSelector: {inferfleet.dev/pool: l4}}",
        15, "spec.nodePools[1].nodeSelector", "pool b selects the same nodes as pool l4",
        "Make them one pool, or write labels that tell their nodes apart",
    ),
    "marks of a conflict": (
        "  replicas: 2", "<<<<<<< HEAD\n  replicas: 2\n=======\n  replicas: 3\n>>>>>>> other",
        21, "", "<<<<<<< HEAD marks an unresolved merge conflict",
        "Keep one side or both, and remove the lines with marks",
    ),
    "taint": (
        "nodeCount: 3}", "nodeCount: 3, taints: [{key: a b, effect: NoSchedule}]}",
        14, "spec.nodePools[0].taints[0].key", "key 'a b' must be a key such as tier or example.com/tier, "
        "with at most 63 characters after the '/'",
        "Change it",
    ),
    "source without its block": (
        "source: Existing, existing: {kubeconfig: {path: x}}", "source: GKE",
        12, "spec.cluster", "source GKE needs a block gke", "Add gke: {project: ..., region: ...}",
    ),
    "existing cluster without a gateway": (
        "  serving: {gateway: {className: istio}}\n", "  serving: {profile: gie-1.5}\n",
        11, "spec", "an existing cluster needs serving.gateway", "Add serving: {gateway: ...}",
    ),
    "zones of nodes that exist": (
        "nodeCount: 3", "nodeCount: 3, zones: [us-east5-a]",
        14, "spec.nodePools[0].zones",
        "zones is for pools that inferfleet creates, and this cluster exists already", "Remove zones",
    ),
    "a reservation at Google of nodes that exist": (
        "nodeCount: 3", "nodeCount: 3, capacity: {model: Reservation, reservation: {name: r}}",
        14, "spec.nodePools[0].capacity.reservation",
        "capacity.reservation is for pools that inferfleet creates, and this cluster exists already",
        "Remove reservation",
    ),
    "nodes that exist and are waited for": (
        "nodeCount: 3", "nodeCount: 3, capacity: {model: FlexStart}",
        14, "spec.nodePools[0].capacity.model",
        "capacity model FlexStart asks Google for nodes, which inferfleet does for pools that it creates "
        "alone, and this cluster exists already",
        "Write OnDemand, Spot or Reservation, whichever its nodes are",
    ),
    "copies that do not divide": (
        "{tensor: 1}", "{tensor: 1, data: 3, dataLocal: 2}",
        24, "spec.workers.topology", "data 3 must be a multiple of dataLocal 2", "Change one of the two",
    ),
    "two sizes of a pool": (
        "nodeCount: 3", "nodeCount: 3, maxNodeCount: 4",
        14, "spec.nodePools[0]", "a pool has either nodeCount (fixed) or maxNodeCount (autoscaled)",
        "Write one",
    ),
    "unknown class": (
        "className: l4", "className: l5",
        14, "spec.nodePools[0].className", "pool l4 of cluster east has class 'l5', which does not exist",
        "Known classes: l4",
    ),
    "unknown profile": (
        "serving: {", "serving: {profile: gie-1.4, ",
        15, "spec.serving.profile", "cluster east has profile 'gie-1.4', which does not exist",
        "Did you mean gie-1.5?",
    ),
    "unknown profile of a deployment": (
        "replicas: 2", "replicas: 2\n  profile: router-0.9",
        22, "spec.profile", "deployment 'ml/qwen' has profile 'router-0.9', which does not exist",
        "Did you mean router-0.10?",
    ),
    "unknown kind": (
        "kind: InferenceCluster", "kind: InferenceClustr",
        9, "kind", "kind 'InferenceClustr' is not known", "Did you mean InferenceCluster?",
    ),
    "unknown apiVersion": (
        "v1alpha1\nkind: InferenceCluster", "v1beta1\nkind: InferenceCluster",
        8, "apiVersion", "apiVersion 'inferfleet.dev/v1beta1' is not supported",
        "Write apiVersion: inferfleet.dev/v1alpha1",
    ),
    "typing error in a pod": (
        "        containers:", "        nodeselector: {}\n        containers:",
        27, "spec.workers.template.spec.nodeselector", "Kubernetes 1.36 has no field 'nodeselector' here",
        "Did you mean nodeSelector?",
    ),
    "typing error in a container": (
        "image: x}", "image: x, arg: []}",
        27, "spec.workers.template.spec.containers[0].arg",
        "container engine: Kubernetes 1.36 has no field 'arg' here",
        "Did you mean args?",
    ),
    "no engine": (
        "name: engine", "name: server",
        27, "spec.workers.template.spec.containers",
        "a template has exactly one container named engine, but this one has none",
        "Name the container that serves the model engine",
    ),
    "no image": (
        "image: x}", "image: 3}",
        27, "spec.workers.template.spec.containers[0].image",
        "container engine: image must be a string, not 3",
        "Quote it",
    ),
    "two containers of one name": (
        "[{name: engine, image: x}]", "[{name: engine, image: x}, {name: engine, image: x}]",
        27, "spec.workers.template.spec.containers[1].name",
        "a second entry of containers has the name 'engine'",
        "Change or remove one of the two",
    ),
    "label of others' making in a template": (
        "      spec:\n        containers",
        "      metadata: {labels: {llm-d.ai/role: x}}\n      spec:\n        containers",
        26, 'spec.workers.template.metadata.labels["llm-d.ai/role"]',
        "labels under llm-d.ai/ are reserved for inferfleet", "Remove it, or use a prefix of your own",
    ),
    "key twice": (
        "  replicas: 2", "  replicas: 2\n  replicas: 3",
        22, "spec.replicas", "key 'replicas' is set twice in one map, first on line 21",
        "Remove one of the two",
    ),
    "key that is no text": (
        "tier: prod", "1: prod",
        10, "metadata.labels", "key 1 must be text", 'Quote it: "1"',
    ),
    "octal or decimal": (
        "replicas: 2", "replicas: 010",
        21, "spec.replicas", "010 starts with 0, which some YAML parsers read as octal and others as decimal",
        "Write 0o10 for an octal number such as a file mode, 10 for a decimal one, or quote it as text",
    ),
    "decimal": (
        "replicas: 2", "replicas: 09",
        21, "spec.replicas", "09 starts with 0, which some YAML parsers read as octal and others as decimal",
        "Write 9, or quote it as text",
    ),
    "foreign tag": (
        "replicas: 2", "replicas: !!python/object/apply:os.getcwd []",
        21, "spec.replicas", "tag !!python/object/apply:os.getcwd is not supported",
        "Remove the tag and write plain data",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_told_with_place_value_rule_and_next_step(mistake: Mistake, case: str) -> None:
    old, new, line, *told = CASES[case]
    assert mistake(BASE, old, new) == (Where("a.yaml", line), *told)
