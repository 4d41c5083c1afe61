"""A config of one's own: what profiles refer to is there, and what would keep prefill pods unused."""

from collections.abc import Callable
from typing import Any

import pytest
from one_picker import picker as one_picker

from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.problems import Problem
from inferfleet.serving.picker import picker_config
from inferfleet.serving.picker_check import deployment_problems, picker_problems
from inferfleet.tables.pickers import picker

Make = Callable[..., ModelDeployment]
Config = dict[str, Any]

CLUSTER = InferenceCluster.model_validate(
    {
        "metadata": {"name": "east"},
        "spec": {
            "cluster": {"source": "Existing", "existing": {"kubeconfig": {"configKey": "east"}}},
            "nodePools": [{"name": "l4", "className": "l4", "nodeCount": 1}],
            "serving": {"gateway": {"className": "any"}},
        },
    }
)
WORKERS = {
    "topology": {"tensor": 2},
    "template": {"spec": {"containers": [{"name": "engine", "image": "vllm:1"}]}},
}
APART = {"prefill": {"workers": WORKERS}}
# The place of the handler in our own config for llm-d-router.
HANDLER = 7


def _said(deployment: Make, config: Config, **spec: Any) -> list[tuple[str, str, str]]:
    """Errors, and the one guess about another program as a warning."""
    problems = list(deployment_problems(deployment(endpointPicker={"config": config}, **spec)))
    warned = {problem.path for problem in problems if problem.severity == "warning"}
    assert warned <= {"spec.endpointPicker.config.schedulingProfiles"}
    return [
        (problem.path.removeprefix("spec.endpointPicker.config"), problem.what, problem.next_step)
        for problem in problems
    ]


def _apart(deployment: Make) -> Config:
    return picker_config(one_picker(deployment(**APART), profile="router-0.10"))


def test_profiles_refer_to_plugins_by_name_or_type(deployment: Make) -> None:
    references = ["queue-scorer", "mine", "quue-scorer", "max-score-picker", "prefix-cache-scorer"]
    config = {
        "kind": "EndpointPickerConfig",
        "plugins": [{"type": "queue-scorer"}, {"type": "prefix-cache-scorer", "name": "mine"}],
        "schedulingProfiles": [
            {"name": "default", "plugins": [{"pluginRef": name} for name in references]},
        ],
    }
    assert _said(deployment, config) == [
        (
            ".schedulingProfiles[0].plugins[2].pluginRef",
            "there is no plugin 'quue-scorer'",
            "Did you mean queue-scorer?",
        ),
        (
            ".schedulingProfiles[0].plugins[4].pluginRef",
            "there is no plugin 'prefix-cache-scorer'",
            "Plugins: mine, queue-scorer",
        ),
    ]


def test_what_the_picker_says_itself_is_left_to_it(deployment: Make) -> None:
    config = {
        "apiVersion": "example.com/v1",
        "kind": "nosuch",
        "featureGates": ["nosuch"],
        "plugins": [{"type": "nosuch"}, {"type": "nosuch"}, {"name": "x"}],
        "requestHandler": {"parsers": [{"pluginRef": "openai-parser"}]},
        "saturationDetector": {"pluginRef": "utilization-detector"},
        "nosuch": 1,
    }
    assert _said(deployment, config) == []


def _no_handler(config: Config) -> None:
    del config["plugins"][HANDLER]


def _no_decider(config: Config) -> None:
    config["plugins"][HANDLER]["parameters"] = {}


def _unknown_decider(config: Config) -> None:
    config["plugins"][HANDLER]["parameters"] = {"deciderPluginName": "mine"}


def _no_profile(config: Config) -> None:
    del config["schedulingProfiles"][0]


def _no_filter(config: Config) -> None:
    del config["schedulingProfiles"][1]["plugins"][0]


@pytest.mark.parametrize(
    ("change", "path", "what", "next_step"),
    [
        (
            _no_handler,
            ".plugins",
            "the deployment has prefill apart, and no plugin is a disagg-profile-handler, which chooses "
            "prefill pods",
            "Add it with parameters: {deciders: {prefill: prefix-based-pd-decider}}",
        ),
        (
            _no_decider,
            ".plugins[7]",
            "disagg-profile-handler names no decider, so no prompt is read by prefill pods",
            "Write parameters: {deciders: {prefill: prefix-based-pd-decider}}",
        ),
        (
            _unknown_decider,
            ".plugins[7]",
            "disagg-profile-handler names the decider 'mine', and there is no such plugin",
            "Add it, of type prefix-based-pd-decider or another one",
        ),
        (
            _no_profile,
            ".schedulingProfiles",
            "no scheduling profile 'prefill' seems to keep to pods of prefill by a filter",
            "Add pluginRef: prefill-filter to it",
        ),
        (
            _no_filter,
            ".schedulingProfiles",
            "no scheduling profile 'decode' seems to keep to pods of decode by a filter",
            "Add pluginRef: decode-filter to it",
        ),
    ],
)
def test_a_part_without_which_prefill_pods_are_never_used_is_asked_for(
    deployment: Make, change: Callable[[Config], None], path: str, what: str, next_step: str
) -> None:
    config = _apart(deployment)
    change(config)
    assert _said(deployment, config, **APART) == [(path, what, next_step)]
    # Without prefill nothing is missing.
    assert _said(deployment, config) == []


@pytest.mark.parametrize("label_of_selector", ["llm-d.ai/role", "inferfleet.dev/role"])
def test_other_spellings_of_the_same_config_are_taken(deployment: Make, label_of_selector: str) -> None:
    """Names of one's own, filters by label, the flat form of parameters, and the older profile handler."""
    label = {"label": "llm-d.ai/role", "validValues": ["prefill"]}
    config = {
        "kind": "EndpointPickerConfig",
        "plugins": [
            {"type": "by-label", "name": "reads", "parameters": label},
            {
                "type": "label-selector-filter",
                "name": "writes",
                "parameters": {"matchLabels": {label_of_selector: "decode"}},
            },
            {"type": "pd-profile-handler", "parameters": {"decodeProfile": "writing"}},
        ],
        "schedulingProfiles": [
            {"name": "prefill", "plugins": [{"pluginRef": "reads"}]},
            {"name": "writing", "plugins": [{"pluginRef": "writes"}]},
        ],
    }
    assert _said(deployment, config, **APART) == []


@pytest.mark.parametrize("plugins", [None, "queue-scorer", [1, {"type": 2}, {}], [{"type": "queue-scorer"}]])
def test_half_written_configs_end_no_check(deployment: Make, plugins: object) -> None:
    config = {"kind": "EndpointPickerConfig", "plugins": plugins, "schedulingProfiles": plugins}
    assert [path for path, _, _ in _said(deployment, config, **APART)] == [
        ".plugins",
        *([".schedulingProfiles"] * 2),
    ]


@pytest.mark.parametrize(
    ("engine", "profile", "parameters", "flags", "where"),
    [
        ("TensorRT-LLM", "router-0.10", None, {}, "path: /prometheus/metrics"),
        ("TensorRT-LLM", "gie-1.5", {"port": 9}, {}, "path: /prometheus/metrics"),
        ("TensorRT-LLM", "gie-1.5", {"path": "/prometheus/metrics"}, {}, None),
        ("TensorRT-LLM", "gie-1.5", None, {"model-server-metrics-path": "/prometheus/metrics"}, None),
        ("Triton", "router-0.10", None, {}, "port: 8002"),
        ("Triton", "router-0.10", {"port": 8002}, {}, None),
        # Its port is a flag, which is written.
        ("Triton", "gie-1.5", None, {}, None),
        ("vLLM", "router-0.10", None, {}, None),
    ],
)
def test_metrics_that_no_source_finds_are_told(
    deployment: Make, engine: str, profile: str, parameters: Any, flags: dict[str, str], where: str | None
) -> None:
    source = {"type": "metrics-data-source", "parameters": parameters} if parameters else {"type": "x"}
    own = {"config": {"plugins": [source]}, "flags": flags}
    document = deployment(endpointPicker=own, engine={"type": engine})
    row = picker(profile, disaggregated=False)
    told = [
        Problem(
            f"{engine} serves its metrics elsewhere than pickers read them ({where}), and no "
            "metrics-data-source of the config says where: the picker chooses pods without them",
            f"Add {{type: metrics-data-source, parameters: {{{where}}}}} to its plugins",
            "spec.endpointPicker.config",
            kind="ModelDeployment",
            key=document.metadata.key,
            severity="warning",
        )
    ]
    found = list(picker_problems(one_picker(document, profile=row.name), CLUSTER))
    assert found == (told if where else [])
