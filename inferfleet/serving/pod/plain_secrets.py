"""Secrets that pods hold in plain text: variables and arguments of containers that look like one.

By the value, where its form is that of a known kind of credential, or by the name of the variable, where its
value could be one. What is found is told without the value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from inferfleet.documents.pods.diff import field_path
from inferfleet.documents.pods.template import containers_of
from inferfleet.documents.problems import FieldPath
from inferfleet.documents.wording import path_of, shown

# (what it is, how its text looks)
_FORMS = (
    ("a private key", re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----")),
    ("a token of Hugging Face", re.compile(r"\bhf_[A-Za-z0-9]{20,}")),
    ("an API key", re.compile(r"(?<![A-Za-z0-9-])(sk|nvapi)-[A-Za-z0-9_-]{16,}")),
    ("an access key of AWS", re.compile(r"\b(AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("an API key of Google", re.compile(r"\bAIza[0-9A-Za-z_-]{35}")),
    ("a token of GitHub", re.compile(r"\b(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})")),
    ("a token of GitLab", re.compile(r"\bglpat-[A-Za-z0-9_-]{16,}")),
    ("a token of Slack", re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}")),
    (
        "a JSON Web Token",
        re.compile(r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{10,1000}\.eyJ[A-Za-z0-9_-]{10,}"),
    ),
    ("a URL with a password", re.compile(r"://[^/\s:@]{1,100}:[^/\s:@$]{1,200}@")),
)
_WORDS = frozenset(
    {"TOKEN", "KEY", "APIKEY", "PASSWORD", "PASSWD", "PGPASSWORD", "PASSPHRASE", "SECRET", "CREDENTIALS"}
)
# `HF_TOKEN_PATH` says where a token is; `EOS_TOKEN` and `KEY_NAME` are no secrets either.
_HARMLESS_LAST = frozenset(
    {"PATH", "FILE", "DIR", "NAME", "URL", "URI", "ENDPOINT", "ARN", "REF", "ID", "TYPE", "MODE", "FORMAT"}
    | {"TTL", "EXPIRY", "EXPIRE", "EXPIRATION", "LENGTH", "RATE", "LIMIT", "STATS", "PREFIX", "COLUMN"}
    | {"ALGORITHM", "ALGO", "AUDIENCE", "POLICY", "PROJECT", "MOUNT", "VAULT", "RING", "SPLITTER", "ENABLED"}
)
_HARMLESS_FIRST = frozenset(
    {"BOS", "EOS", "PAD", "UNK", "SEP", "CLS", "MASK", "STOP", "IMAGE", "CACHE", "KMS", "PRIMARY", "FOREIGN"}
)
# Shorter ones are switches and stand-ins, such as `none` and the `EMPTY` of clients of vLLM.
_SHORTEST = 8
# Switches, numbers, file names, references to other variables, of Kubernetes or of a shell, names of clouds'
# own secrets, what says that there is none, and a model's tokens such as `<|endoftext|>` and `[END_OF_TURN]`.
_HARMLESS = re.compile(
    r"(?i)true|false|disabled|enabled|[0-9.]+|[/.~].*|\$\([A-Za-z0-9_.-]+\)|\$\{?[A-Za-z0-9_]+\}?|<.*>"
    r"|\[[A-Z0-9_]*\]|arn:.*|projects/.*|(not|no|none)[-_ ]?(needed|required|used)"
)
_NAMES = r"[a-z0-9_-]*(?:api[-_]key|token|password|secret)"
_FLAG = re.compile(rf"(?is)--?({_NAMES})(?:=(.*))?")
# The same in a command line for a shell, which is one argument. Python finds the beginning of an expression
# fastest, so what stands before it is looked at afterwards.
_IN_SHELL = re.compile(rf"(?i)--(?<!\S--)({_NAMES})(?:=|\s+)[\"']?([^\s\"';|&]+)")


def in_variable(name: Any, value: Any) -> str | None:
    """Return what is to be said of an environment variable, or None."""
    if not isinstance(value, str) or not isinstance(name, str):
        return None
    if form := _form(value):
        return f"holds {form} in plain text"
    words = [word for word in re.split(r"[^A-Z0-9]+", name.upper()) if word]
    is_secret_name = not _WORDS.isdisjoint(words) and "PUBLIC" not in words
    if (
        is_secret_name
        and words[-1] not in _HARMLESS_LAST
        and words[0] not in _HARMLESS_FIRST
        and _could_be(value)
    ):
        return "has the name of a secret, and its value is in plain text"
    return None


def in_arguments(words: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """Yield the position of each argument that holds a secret, and what is to be said of it."""
    flag = ""
    for index, word in enumerate(words):
        text = word if isinstance(word, str) else ""
        matched = _FLAG.fullmatch(text)
        value = (matched[2] or "") if matched else text if flag else ""
        name = matched[1] if matched else flag
        if form := _form(text):
            yield index, f"holds {form} in plain text"
        elif name and _is_secret_of(name, value):
            yield index, f"is the value of --{name.lstrip('-')}, in plain text"
        elif inside := next((m[1] for m in _IN_SHELL.finditer(text) if _is_secret_of(m[1], m[2])), None):
            yield index, f"holds the value of --{inside.lstrip('-')}, in plain text"
        flag = matched[1] if matched and matched[2] is None else ""


def in_container(container: Mapping[str, Any]) -> Iterator[tuple[str, int, str, str]]:
    """Yield every secret of a container: in `env`, `command` or `args`, at which position, the text that
    holds it, and what is to be said of it.
    """
    for index, variable in enumerate(container.get("env") or ()):
        if why := in_variable(variable.get("name"), variable.get("value")):
            yield "env", index, variable["value"], why
    for part in ("command", "args"):
        words = container.get(part) or ()
        for index, why in in_arguments(words):
            yield part, index, words[index], why


def _is_secret_of(flag: str, value: str) -> bool:
    return re.split("[-_]", flag.upper().strip("-_"))[0] not in _HARMLESS_FIRST and _could_be(value)


# Each template is looked at as written and after plugins, and megabytes take seconds.
@lru_cache(maxsize=1024)
def _form(value: str) -> str | None:
    return next((form for form, pattern in _FORMS if pattern.search(value)), None)


def _could_be(value: str) -> bool:
    return len(value) >= _SHORTEST and not _HARMLESS.fullmatch(value) and not value.startswith("--")


@dataclass(frozen=True)
class Risk:
    """One thing at `path` of a template; `place` is the same path with keys of list items, as in changes."""

    path: str
    place: str
    what: str
    next_step: str


def risks(template: Mapping[str, Any]) -> Iterator[Risk]:
    """Yield every secret, in the order of the template's parts, without its value."""
    for at, container in containers_of(template["spec"]):
        within = f"of container {shown(str(container.get('name')))!r}"
        for part, i, _, why in in_container(container):
            steps: FieldPath = (*at, part, i)
            what = f"item {i} of {part} {within} {why}"
            step = "Read it from a variable with valueFrom.secretKeyRef, as $(NAME) here"
            if part == "env":
                steps = (*steps, "value")
                what = f"variable {shown(str(container['env'][i].get('name')))!r} {within} {why}"
                step = "Put it into a Secret (inferfleet:secrets), read it by valueFrom.secretKeyRef"
            next_step = f"{step}, and rotate it if others can read this"
            yield Risk(path_of(steps), field_path(template, steps), what, next_step)
