"""`inferfleet schema`: the JSON Schema of all documents."""

from inferfleet.api.loading.schema import json_schema
from inferfleet.cli.output import print_json
from inferfleet.cli.report import reporting


def schema() -> None:
    """Print the JSON Schema of all documents, for editors that check YAML."""
    with reporting():
        print_json(json_schema())
