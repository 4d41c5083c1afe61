"""A config of one's own: what the picker does not have, and what would keep prefill pods unused."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.manifests.picker.check import check_deployment
from inferfleet.manifests.picker.config import picker_config
from inferfleet.profiles.table import picker

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]
Config = dict[str, Any]
Said = tuple[str, str, str, str]

WORKERS = {
    "topology": {"tensor": 2},
    "template": {"spec": {"containers": [{"name": "engine", "image": "vllm:1"}]}},
}
# Places of plugins in our own config for the scheduler.
HEADERS, SCORER, PREFILL, DECODE, DECIDER, HANDLER = 0, 1, 3, 4, 6, 7


def _document(deployment: Make, config: Config | None, engine: str = "vLLM", **spec: Any) -> ModelDeployment:
    own = {"endpointPicker": {"config": config}} if config else {}
    return deployment(engine={"type": engine}, **own, **spec)


def _said(
    document: ModelDeployment, serving: Serving, *, apart: bool, name: str = "scheduler-0.7"
) -> list[Said]:
    row = picker(name, disaggregated=apart)
    return [
        (one.severity, one.path.removeprefix("spec.endpointPicker.config."), one.what, one.next_step)
        for one in check_deployment(document, serving=serving, profile=row)
    ]


def _without(place: int) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        del config["plugins"][place]

    return change


def _at(place: int, **plugin: Any) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        config["plugins"][place] |= plugin

    return change


def _handler_first(config: Config) -> None:
    plugins = config["plugins"]
    plugins[DECIDER], plugins[HANDLER] = plugins[HANDLER], plugins[DECIDER]


def _no_gate(config: Config) -> None:
    config["featureGates"] = ["flowControl"]


def _no_profile(config: Config) -> None:
    del config["schedulingProfiles"][0]


def _no_filter(config: Config) -> None:
    del config["schedulingProfiles"][1]["plugins"][0]


@pytest.mark.parametrize(
    ("change", "path", "what", "next_step"),
    [
        (
            _without(HANDLER),
            "plugins",
            "the deployment has prefill apart, and no plugin is a disagg-profile-handler, which chooses "
            "prefill pods",
            "Add it with parameters: {deciders: {prefill: prefix-based-pd-decider}}, or remove the config",
        ),
        (
            _at(HANDLER, parameters={}),
            "plugins[7]",
            "disagg-profile-handler names no decider, so no prompt is read by prefill pods",
            "Write parameters: {deciders: {prefill: prefix-based-pd-decider}}",
        ),
        (
            _at(HANDLER, parameters={"deciderPluginName": "mine"}),
            "plugins[7].parameters.deciderPluginName",
            "disagg-profile-handler names the decider 'mine', and there is no plugin of this name",
            "Add it before disagg-profile-handler, of type always-disagg-multimodal-decider or "
            "always-disagg-pd-decider or prefix-based-pd-decider",
        ),
        (
            _handler_first,
            "plugins[6].parameters.deciders.prefill",
            "plugin 'prefix-based-pd-decider' stands after disagg-profile-handler, which is made first "
            "and lacks it",
            "Move it before disagg-profile-handler",
        ),
        (
            _at(DECIDER, parameters={"nonCachedTokens": 0}),
            "plugins[6]",
            "without nonCachedTokens, or with 0, it sends no prompt to prefill pods",
            "Write parameters: {nonCachedTokens: 16}",
        ),
        (
            _no_gate,
            "featureGates",
            "without the feature gate prepareDataPlugins the decider prefix-based-pd-decider sends no prompt "
            "to prefill pods",
            "Write featureGates: [flowControl, prepareDataPlugins]",
        ),
        (
            _without(SCORER),
            "plugins",
            "the decider prefix-based-pd-decider asks what is cached, which no plugin knows",
            "Add {type: prefix-cache-scorer}",
        ),
        (
            _without(HEADERS),
            "plugins",
            "no plugin is a disagg-headers-handler, which tells the decode pod the prefill pod that was "
            "chosen",
            "Add {type: disagg-headers-handler}",
        ),
        (
            _no_profile,
            "schedulingProfiles",
            "there is no scheduling profile 'prefill', by which pods of prefill are chosen",
            "Add one with pluginRef: prefill-filter",
        ),
        (
            _no_filter,
            "schedulingProfiles[1].plugins",
            "profile 'decode' chooses among pods of both roles",
            "Add pluginRef: decode-filter to it",
        ),
        (
            _at(SCORER, type="prefix-cache-scorers", name="prefix-cache-scorer"),
            "plugins",
            "the decider prefix-based-pd-decider asks what is cached, which no plugin knows",
            "Add {type: prefix-cache-scorer}",
        ),
    ],
)
def test_a_part_without_which_prefill_pods_are_never_used_is_asked_for(
    deployment: Make,
    serving: Serve,
    change: Callable[[Config], None],
    path: str,
    what: str,
    next_step: str,
) -> None:
    prefill = {"prefill": {"workers": WORKERS}}
    config = picker_config(
        deployment=_document(deployment, None, **prefill), profile=picker("scheduler-0.7", disaggregated=True)
    )
    change(config)
    said = _said(_document(deployment, config, **prefill), serving(), apart=True)
    assert said[0] == ("error", path, what, next_step)
    follows = ("has no plugin type", "there is no plugin", "no plugin that chooses between them")
    assert [one for one in said[1:] if not any(words in one[2] for words in follows)] == []


def test_other_spellings_of_the_same_config_are_taken(deployment: Make, serving: Serve) -> None:
    """Names of one's own, filters by label, the flat form of parameters, and the older profile handler."""
    label = {"label": "llm-d.ai/role", "validValues": ["prefill"]}
    config = {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
        "kind": "EndpointPickerConfig",
        "featureGates": ["prepareDataPlugins"],
        "plugins": [
            {"type": "prefill-header-handler"},
            {"type": "prefix-cache-scorer", "name": "cached"},
            {"type": "by-label", "name": "reads", "parameters": label},
            {
                "type": "by-label-selector",
                "name": "writes",
                "parameters": {"matchLabels": {"llm-d.ai/role": "decode"}},
            },
            {"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 4}},
            {"type": "pd-profile-handler", "parameters": {"decodeProfile": "writing"}},
        ],
        "schedulingProfiles": [
            {"name": "prefill", "plugins": [{"pluginRef": "reads"}]},
            {"name": "writing", "plugins": [{"pluginRef": "writes"}, {"pluginRef": "cached"}]},
        ],
    }
    document = _document(deployment, config, prefill={"workers": WORKERS})
    assert _said(document, serving(), apart=True) == []


def test_the_router_needs_neither_order_nor_gate_nor_a_plugin_for_the_header(
    deployment: Make, serving: Serve
) -> None:
    prefill = {"prefill": {"workers": WORKERS}}
    row = picker("router-0.10", disaggregated=True)
    config = picker_config(deployment=_document(deployment, None, **prefill), profile=row)
    config["plugins"].reverse()
    document = _document(deployment, config, **prefill)
    assert _said(document, serving(profile="router-0.10"), apart=True, name="router-0.10") == []


def test_sglang_s_decider_must_send_every_prompt_to_prefill_pods(deployment: Make, serving: Serve) -> None:
    prefill = {"prefill": {"workers": WORKERS}}
    row = picker("router-0.10", disaggregated=True)
    config = picker_config(deployment=_document(deployment, None, **prefill), profile=row)
    document = _document(deployment, config, "SGLang", **prefill)
    assert _said(document, serving(profile="router-0.10"), apart=True, name="router-0.10") == [
        (
            "error",
            "plugins[6]",
            "SGLang's decode pods refuse what is not prefilled apart, and prefix-based-pd-decider lets "
            "some by",
            "Use always-disagg-pd-decider",
        )
    ]


GIE: Config = {
    "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
    "kind": "EndpointPickerConfig",
    "featureGates": ["flowControl"],
    "plugins": [{"type": "queue-scorer"}],
    "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "queue-scorer"}]}],
}


def _odd() -> Config:
    config = copy.deepcopy(GIE)
    config["featureGates"].append("prepareDataPlugins")
    config["plugins"] += [{"type": "que-scorer"}, {"type": "prefill-filter"}]
    return config


@pytest.mark.parametrize(("image", "severity"), [(None, "error"), ("own/epp-with-more:1", "warning")])
def test_plugins_and_gates_that_a_picker_does_not_have_end_it(
    deployment: Make, serving: Serve, image: str | None, severity: str
) -> None:
    document = deployment(endpointPicker={"config": _odd(), "image": image})
    assert _said(document, serving(), apart=False) == [
        (
            severity,
            "featureGates[1]",
            "the endpoint picker of gie-1.5 has no feature gate 'prepareDataPlugins'",
            "Remove it; its feature gates: dataLayer, enableLegacyMetrics, flowControl",
        ),
        (
            severity,
            "plugins[1].type",
            "the endpoint picker of gie-1.5 has no plugin type 'que-scorer'",
            "Did you mean queue-scorer?",
        ),
        (
            severity,
            "plugins[2].type",
            "the endpoint picker of gie-1.5 has no plugin type 'prefill-filter'",
            "Write spec.prefill, with which the deployment has a picker that knows it, or remove the plugin",
        ),
    ]


def test_a_config_that_chooses_prefill_pods_is_told_where_there_are_none(
    deployment: Make, serving: Serve
) -> None:
    row = picker("router-0.10", disaggregated=True)
    apart = _document(deployment, None, prefill={"workers": WORKERS})
    document = _document(deployment, picker_config(deployment=apart, profile=row))
    assert _said(document, serving(profile="router-0.10"), apart=False, name="router-0.10") == [
        (
            "warning",
            "plugins[7]",
            "disagg-profile-handler chooses prefill pods, and the deployment has none",
            "Write spec.prefill, or use single-profile-handler",
        )
    ]


@pytest.mark.parametrize("plugins", [None, "queue-scorer", [1, {"type": 2}, {}], [{"type": "queue-scorer"}]])
def test_half_written_configs_end_no_check(deployment: Make, serving: Serve, plugins: object) -> None:
    config = GIE | {"plugins": plugins, "featureGates": plugins, "schedulingProfiles": plugins}
    document = _document(deployment, config, prefill={"workers": WORKERS})
    assert _said(document, serving(), apart=True)[0][1] == "plugins"
