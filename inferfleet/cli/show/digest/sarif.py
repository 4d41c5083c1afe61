"""The problems of a digest as SARIF 2.1.0, by which code review shows each at its line.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

import hashlib
import os
from typing import Any
from urllib.parse import quote

from inferfleet.api.problems import Severity
from inferfleet.digest.values.stack import Digest, Told

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "notice": "note"}
_RULES: dict[Severity, str] = {
    "error": "An update of the stack is refused.",
    "warning": "Somebody should read this before an update of the stack.",
    "notice": "How something was understood, or what an update does by itself.",
}
# GitHub shows no result without a place, and takes 25,000 in a run:
# https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
_NOWHERE = "Pulumi.yaml"
_MOST = 25_000


def sarif(digest: Digest) -> dict[str, Any]:
    """Return all problems, warnings and notices of this version, new or not, as one run.

    Files are relative to the repository. What has no place in it is put at the project's file, such as what
    is about a class of the catalogue that comes with inferfleet, which the text names.
    """
    results = [
        _result(stack.stack, told, digest.folder) for stack in digest.stacks for told in stack.problems
    ]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "inferfleet",
                        "rules": [
                            {"id": name, "shortDescription": {"text": text}} for name, text in _RULES.items()
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": results[:_MOST],
            }
        ],
    }


def _result(stack: str, told: Told, folder: str) -> dict[str, Any]:
    path = f"catalogue: {told.catalogue}: " if told.catalogue else ""
    path += f"{told.path}: " if told.path else ""
    return {
        "ruleId": told.severity,
        "ruleIndex": list(_RULES).index(told.severity),
        "level": _LEVELS[told.severity],
        "message": {"text": _text(f"{path}{told.what}. {told.step}")},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {
                        # A path with spaces is no URI (3.4.3 of the specification).
                        "uri": quote(os.fsencode(f"{folder}{told.file or _NOWHERE}")),
                        "uriBaseId": "%SRCROOT%",
                    },
                    "region": {"startLine": max(told.line, 1)},
                }
            }
        ],
        # The same on another line is the same.
        "partialFingerprints": {"inferfleet/v1": _fingerprint(stack, told)},
        "baselineState": "new" if told.new else "unchanged",
    }


def _text(message: str) -> str:
    """Return the message as a plain text in which nothing is a placeholder or a link.

    Braces are doubled in every text, whether it has arguments or not (3.11.5 of the specification).
    `[x](y)` is a link (3.11.6), and a backslash before a bracket outside of links is shown, so a space parts
    the two.
    """
    return message.replace("{", "{{").replace("}", "}}").replace("](", "] (")


def _fingerprint(stack: str, told: Told) -> str:
    text = "\0".join(
        (stack, told.severity, told.file, told.path, told.what, *([told.catalogue] if told.catalogue else ()))
    )
    # Names of files need not be text.
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]
