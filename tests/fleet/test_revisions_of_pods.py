"""The revision of prefill and decode: what makes a new set of pods, and what rolls."""

from typing import Any

import pytest
from declared import MODEL, declared

from inferfleet.documents.kinds.inference_cluster import Images
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.roles import revision, tuned_under_one_revision

IMAGES = Images(engine={"vLLM": "docker.io/vllm/vllm-openai:v0.32.0"})
Fields = dict[str, Any]


def _pair(
    *,
    engine: Fields | None = None,
    decode: Fields | None = None,
    prefill: Fields | None = None,
    workers: Fields | None = None,
    **fields: Any,
) -> ModelDeployment:
    """Prefill and decode of one GPU each; `workers` are fields of those of prefill, `fields` as elsewhere."""
    apart = {"workers": {"topology": {"tensor": 1}, **(workers or {})}, **(prefill or {})}
    return declared(engine=engine or {}, container=decode, prefill=apart, **fields)


def _digits(document: ModelDeployment, images: Images = IMAGES) -> str:
    return revision(document, images)


def _template(**container: Any) -> Fields:
    return {"template": {"spec": {"containers": [{"name": "engine", **container}]}}}


def test_a_deployment_of_one_kind_of_pods_has_none() -> None:
    assert _digits(declared()) == ""


def test_it_is_six_digits_that_no_release_may_change() -> None:
    assert _digits(_pair()) == "4e2b5d"


TOKEN = {"repository": MODEL, "token": {"secretRef": {"name": "hf"}}}
LEVEL = [{"name": "VLLM_LOGGING_LEVEL", "value": "DEBUG"}]


@pytest.mark.parametrize(
    ("change", "is_new", "is_new_under_one_revision"),
    [
        ({"engine": {"type": "SGLang"}}, True, True),
        ({"engine": {"model": "Qwen/Qwen3-8B"}}, True, True),
        ({"engine": {"model": {"repository": MODEL, "revision": "abc"}}}, True, True),
        ({"engine": {"image": "vllm:2"}}, True, True),
        ({"decode": {"image": "vllm:2"}}, True, True),
        ({"prefill": {"image": "vllm:2"}}, True, True),
        ({"engine": {"version": "0.33"}}, False, False),
        ({"prefill": {"connector": "Mooncake"}}, True, True),
        ({"prefill": {"options": {"kv_buffer_size": 1}}}, True, True),
        ({"topology": {"tensor": 2}}, True, True),
        ({"topology": {"tensor": 1, "pipeline": 2}}, True, True),
        ({"workers": {"topology": {"tensor": 2}}}, True, True),
        ({"engine": {"args": ["--max-num-seqs=64"]}}, True, False),
        ({"prefill": {"args": ["--max-num-seqs=64"]}}, True, False),
        ({"decode": {"env": LEVEL}}, True, False),
        ({"workers": _template(env=LEVEL)}, True, False),
        ({"decode": {"envFrom": [{"configMapRef": {"name": "tuning"}}]}}, True, False),
        ({"decode": {"command": ["vllm", "serve", MODEL]}}, True, False),
        ({"decode": {"args": ["--max-num-seqs=64"]}}, True, False),
        ({"engine": {"model": TOKEN}}, False, False),
        ({"engine": {"drain": "5m"}}, False, False),
        ({"engine": {"servedNames": ["chat"]}}, False, False),
        ({"engine": {"port": 9000}}, False, False),
        ({"engine": {"startup": "1h"}}, False, False),
        ({"decode": {"resources": {"requests": {"cpu": "4"}}}}, False, False),
        ({"pod": {"nodeSelector": {"disk": "ssd"}}}, False, False),
        ({"topology": {"tensor": 1, "data": 2, "dataLocal": 2}}, False, False),
        ({"prefill": {"decider": {"type": "Always"}}}, False, False),
        ({"prefill": {"proxy": {"enginePort": 8300}}}, False, False),
        ({"replicas": 3}, False, False),
        ({"nodeSelector": {"cel": "true"}}, False, False),
        ({"plugins": [{"name": "accelerator"}]}, False, False),
    ],
    ids=str,
)
def test_what_may_decide_the_form_of_a_cache_makes_a_new_set(
    change: Fields, is_new: bool, is_new_under_one_revision: bool
) -> None:
    base: Fields = {"decode": {"image": "vllm:1"}} if "decode" in change else {}
    if "decode" in change:
        change = {**change, "decode": {"image": "vllm:1", **change["decode"]}}
    assert (_digits(_pair(**change)) != _digits(_pair(**base))) is is_new
    named = {"revision": "3"}
    before = _pair(**{**base, "engine": named})
    after = _pair(**{**change, "engine": {**named, **change.get("engine", {})}})
    assert (_digits(after) != _digits(before)) is is_new_under_one_revision
    assert tuned_under_one_revision(before, after) is (is_new and not is_new_under_one_revision)


def test_another_revision_of_the_engine_is_a_new_set() -> None:
    digits = {_digits(_pair(engine={"revision": name})) for name in ("3", "4")}
    assert len(digits | {_digits(_pair())}) == 3
    changed = _pair(engine={"revision": "4", "args": ["--x"]})
    assert not tuned_under_one_revision(_pair(engine={"revision": "3"}), changed)


def test_the_image_of_a_cluster_and_that_of_followers_count() -> None:
    other = Images(engine={"vLLM": "mirror/vllm:2"})
    assert _digits(_pair(), other) != _digits(_pair())

    def group(follower: str) -> ModelDeployment:
        entry = {"entry": _template(image="vllm:1"), "follower": _template(image=follower)}
        return _pair(workers={"topology": {"tensor": 1, "pipeline": 2}, **entry})

    assert _digits(group("vllm:1")) != _digits(group("vllm:2"))


# A script in which a list is filled: no reader of shell scripts stands between it and the names of pods.
SCRIPT = 'cmd=(vllm serve {model} --block-size 128)\nexec "${{cmd[@]}}" {more}'


def _script(model: str = "Qwen/Qwen3-32B", more: str = "--port 8200", **engine: Any) -> ModelDeployment:
    args = [SCRIPT.format(model=model, more=more)]
    return _pair(decode={"command": ["bash", "-c"], "args": args}, engine={"model": None, **engine})


def test_the_revision_of_a_script_is_that_of_its_text() -> None:
    assert _digits(_script()) == "a10f6e"


def test_models_that_only_a_script_names_have_revisions_of_their_own() -> None:
    assert _digits(_script("meta-llama/Llama-3.1-8B")) != _digits(_script("Qwen/Qwen3-32B"))


def test_the_place_of_a_word_in_a_command_decides_nothing_under_one_revision() -> None:
    before = ["vllm", "serve", "--max-num-seqs", "64", MODEL]
    behind = ["vllm", "serve", MODEL, "--max-num-seqs", "64"]
    plain = ["vllm", "serve", MODEL]
    unnamed = {_digits(_pair(decode={"command": words})) for words in (before, behind, plain)}
    named = {
        _digits(_pair(decode={"command": words}, engine={"revision": "1"}))
        for words in (before, behind, plain)
    }
    assert (len(unnamed), len(named)) == (3, 1)


def test_a_deployment_that_becomes_one_of_a_pair_is_told_by_its_pods() -> None:
    named = {"revision": "3"}
    assert not tuned_under_one_revision(declared(engine=named), _pair(engine={**named, "args": ["--x"]}))
