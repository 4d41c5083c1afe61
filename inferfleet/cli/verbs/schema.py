"""`inferfleet schema`: the JSON Schema of all documents."""

import json

from inferfleet.api.loading.schema import json_schema
from inferfleet.cli.report import reporting


def schema() -> None:
    """Print the JSON Schema of all documents, for editors that check YAML."""
    with reporting():
        print(json.dumps(json_schema(), indent=2))
