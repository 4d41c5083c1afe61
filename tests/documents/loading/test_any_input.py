"""Whatever a file contains, the loader returns Documents or raises InvalidDocuments, soon."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from fleet_of_one import CLASS, CLUSTER, DEPLOYMENT, SERVICE, together
from hypothesis import given, settings
from hypothesis import strategies as st

from inferfleet.documents import Documents, InvalidDocuments, Problem, load
from inferfleet.documents.loading.files import MAX_BYTES
from inferfleet.documents.loading.settings import Config, checked_settings

API = "inferfleet.dev/v1alpha1"
KINDS = ("InferenceClass", "InferenceCluster", "ModelDeployment", "ModelService")
_FIELDS = """
    apiVersion kind metadata name namespace labels spec nodePools className nodeCount serving gateway
    cluster source existing kubeconfig path workers topology tensor template containers image engine
    replicas endpoints selector matchLabels plugins config scope roles devices resources gpu count
    memory node cpu price
"""
WORDS = st.sampled_from(_FIELDS.split())
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | WORDS
DATA = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=8), inner, max_size=5)
    ),
    max_leaves=25,
)


def loaded(content: bytes) -> Documents | tuple[Problem, ...]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x.yaml").write_bytes(content)
        try:
            return load([folder], catalogue=None)
        except InvalidDocuments as error:
            problems = error.problems
    assert problems
    assert all(problem.where and problem.where.line >= 1 for problem in problems)
    return problems


@given(st.binary(max_size=200))
def test_any_bytes(content: bytes) -> None:
    loaded(content)


@given(st.text(max_size=200))
def test_any_text(content: str) -> None:
    loaded(content.encode("utf-8", "surrogatepass"))


@given(st.text(alphabet="{}[]:,-?&*!|>%@`'\"#<a1 \t\n~.", max_size=80))
def test_any_signs_of_yaml(content: str) -> None:
    loaded(content.encode())


@settings(deadline=None)
@given(st.sampled_from(KINDS), DATA, DATA)
def test_any_data_in_a_document(kind: str, metadata: Any, spec: Any) -> None:
    document = {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}
    loaded(yaml.safe_dump(document, allow_unicode=True).encode("utf-8", "surrogatepass"))
    loaded(json.dumps(document).encode())


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["documents", "locked", "plugins", "secrets", "x"]), DATA))
def test_any_settings(config: dict[str, Any]) -> None:
    checked_settings(Config(config), stack="dev")


def _bomb(levels: int, line: str) -> str:
    return "a0: &a0 {x: 1}\n" + "".join(line.format(n=n, m=n - 1) for n in range(1, levels))


HOSTILE: dict[str, tuple[bytes | str, str]] = {
    "alias bomb": (_bomb(40, "a{n}: &a{n} [*a{m}, *a{m}, *a{m}]\n"), "more than 200,000 values"),
    "merge bomb": (_bomb(60, "a{n}: &a{n} {{<<: [*a{m}, *a{m}], k{n}: 1}}\n"), "more than 200,000 values"),
    "chain of aliases": (_bomb(600, "a{n}: &a{n} {{k: *a{m}}}\n"), "nested more than 64 levels deep"),
    "alias inside its anchor": ("a: &a [*a]", "alias *a is inside its own anchor"),
    "alias of nothing": ("a: *b", "alias *b has no anchor &b before it"),
    "deep lists": ("[" * 100_000, "nested more than 64 levels deep"),
    "deep maps": ("{a: " * 100_000, "nested more than 64 levels deep"),
    "deep keys": ("? " * 100_000, "nested more than 64 levels deep"),
    "many values": ("- x\n" * 300_000, "more than 300,000 values and keys"),
    "huge number": ("a: " + "9" * 100_000, "does not fit into 64 bits"),
    "huge exponent": ("a: 1e" + "9" * 100_000, "is not a finite number"),
    "huge hexadecimal": ("a: 0x" + "f" * 100_000, "does not fit into 64 bits"),
    "tab": ("a:\n\t- b", "not valid YAML"),
    "UTF-16": ("a: 1".encode("utf-16"), "not UTF-8"),
    "broken UTF-8": (b"a: \xff", "not UTF-8"),
    "NUL": ("a: \0", "YAML does not allow the character U+0000"),
    "object": (
        "a: !!python/object/apply:os.getcwd []",
        "tag !!python/object/apply:os.getcwd is not supported",
    ),
    "map as key": ("? {a: b}\n: c", "a map is used as a key"),
    "merge of a number": ("<<: 3", "the merge key << takes a map or a list of maps"),
    "half a character": (r'a: "\ud800"', "not valid YAML"),
    "large file": (b"#" * (MAX_BYTES + 1), "larger than 5 MiB"),
    "ten megabytes": (b"a: b\n" * 2_000_000, "larger than 5 MiB"),
    "no map": ("just text", "must be a map"),
    "version of the future": ("%YAML 3.0\n---\na", "not valid YAML"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_text_is_told_in_words(case: str) -> None:
    content, words = HOSTILE[case]
    result = loaded(content if isinstance(content, bytes) else content.encode())
    assert not isinstance(result, Documents)
    assert any(words in problem.what for problem in result)
    assert all(len(str(problem)) < 500 for problem in result)


LONG = "k" * 3000


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: l4}", f"name: {LONG}}}"),
        ("family: qwen}}", f"{LONG}: '!'}}}}"),
        ("family: qwen}}}", f"{LONG}: '!'}}}}}}"),
        ("replicas: 1", f"{LONG}: 1"),
    ],
)
def test_a_message_quotes_at_most_a_line_of_a_value(old: str, new: str) -> None:
    text = together(CLASS, CLUSTER, DEPLOYMENT, SERVICE)
    result = loaded(text.replace(old, new, 1).encode())
    assert not isinstance(result, Documents)
    assert all(len(str(problem)) < 500 for problem in result)


EMPTY = ["", "\n", "# nothing\n", "---\n---\n", "---\n...\n---\n", "\ufeff", "null\n---\n~\n"]


@pytest.mark.parametrize("content", EMPTY)
def test_files_without_documents_are_empty(content: str) -> None:
    result = loaded(content.encode())
    assert isinstance(result, Documents)
    assert not result.positions
