"""An outside plugin: a tokenizer beside the engine, with its settings in a ConfigMap."""

import json

from inferfleet.plugins.api import (
    Config,
    Edited,
    Plugin,
    PodTemplate,
    Request,
    put_container,
    put_volume,
)


class Tokenizer(Config):
    image: str
    """Image of the tokenizer."""
    threads: int = 4
    """Threads of the tokenizer."""


def edit(template: PodTemplate, request: Request, config: Tokenizer) -> Edited:
    """Run a tokenizer beside the engine."""
    name = request.companion_name("tokenizer")
    settings = {"engine": f"http://localhost:{request.deployment.port}", "threads": config.threads}
    beside = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"settings.json": json.dumps(settings, sort_keys=True)},
    }
    put_volume(template, {"name": "tokenizer", "configMap": {"name": name}})
    put_container(
        template,
        {
            "name": "tokenizer",
            "image": config.image,
            "ports": [{"name": "tokenize", "containerPort": 8500}],
            "volumeMounts": [{"name": "tokenizer", "mountPath": "/etc/tokenizer", "readOnly": True}],
        },
    )
    return Edited(template, (beside,), remarks=("the tokenizer listens on port 8500",))


PLUGIN = Plugin("tokenizer", Tokenizer, edit, version="1.2.0")
