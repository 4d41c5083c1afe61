"""An older profile handler asks a decider that no parameter names."""

from collections.abc import Callable

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.manifests.picker.check import check_deployment
from inferfleet.manifests.picker.config import picker_config
from inferfleet.profiles.table import picker

WORKERS = {
    "topology": {"tensor": 2},
    "template": {"spec": {"containers": [{"name": "engine", "image": "vllm:1"}]}},
}


def test_a_decider_that_a_handler_asks_by_default_is_told_as_such(
    deployment: Callable[..., ModelDeployment], serving: Callable[..., Serving]
) -> None:
    prefill, row = {"workers": WORKERS}, picker("scheduler-0.7", disaggregated=True)
    config = picker_config(deployment=deployment(prefill=prefill), profile=row)
    config["plugins"] = [
        {"type": "pd-profile-handler"} if plugin["type"] == "disagg-profile-handler" else plugin
        for plugin in config["plugins"]
        if plugin["type"] != "prefix-based-pd-decider"
    ]
    document = deployment(prefill=prefill, endpointPicker={"config": config})
    told = check_deployment(document, serving=serving(profile="scheduler-0.7"), profile=row)
    assert [(one.path, one.what, one.next_step) for one in told] == [
        (
            "spec.endpointPicker.config.plugins[6]",
            "pd-profile-handler asks the decider 'prefix-based-pd-decider' by default, and there is no "
            "plugin of this name",
            "Add it before pd-profile-handler, of type always-disagg-multimodal-decider or "
            "always-disagg-pd-decider or prefix-based-pd-decider",
        )
    ]
