"""Secrets in plain text are found in variables and arguments."""

from typing import Any

import pytest

from inferfleet.serving.pod.plain_secrets import Risk, in_arguments, in_variable, risks


def _template(engine: Any) -> Any:
    return {"metadata": {}, "spec": {"containers": [{"name": "log"}, {"name": "engine", **engine}]}}


def test_secrets_in_variables_and_arguments_are_named_without_their_values() -> None:
    canary = "canary-Zx81-value"
    template = _template(
        engine={
            "env": [{"name": "MODE", "value": "fast"}, {"name": "HF_TOKEN", "value": canary}],
            "args": ["--model=a", f"--api-key={canary}"],
        }
    )
    named = list(risks(template))
    assert named == [
        Risk(
            "spec.containers[1].env[1].value",
            "spec.containers[engine].env[HF_TOKEN].value",
            "variable 'HF_TOKEN' of container 'engine' has the name of a secret, "
            "and its value is in plain text",
            "Put it into a Secret (inferfleet:secrets), read it by valueFrom.secretKeyRef, "
            "and rotate it if others can read this",
        ),
        Risk(
            "spec.containers[1].args[1]",
            "spec.containers[engine].args[--api-key]",
            "item 1 of args of container 'engine' is the value of --api-key, in plain text",
            "Read it from a variable with valueFrom.secretKeyRef, as $(NAME) here, "
            "and rotate it if others can read this",
        ),
    ]
    assert canary not in repr(named)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MODEL", "hf_" + "a" * 34, "holds a token of Hugging Face in plain text"),
        ("X", "sk-proj-" + "a1" * 12, "holds an API key in plain text"),
        ("X", "AKIA" + "Q7" * 8, "holds an access key of AWS in plain text"),
        ("X", "-----BEGIN RSA PRIVATE KEY-----\nMII", "holds a private key in plain text"),
        ("X", "https://me:hunter22@mirror.example.com", "holds a URL with a password in plain text"),
        ("DB_PASSWORD", "correct horse", "has the name of a secret, and its value is in plain text"),
        ("api-key", "0123456789abcdef", "has the name of a secret, and its value is in plain text"),
        ("TOKEN_A", "0123456789abcdef", "has the name of a secret, and its value is in plain text"),
        ("MAX_NUM_BATCHED_TOKENS", "8192-or-so", None),
        ("TOKENIZER", "mistral-common", None),
        ("TOKENIZERS_PARALLELISM", "disabled", None),
        ("HF_TOKEN_PATH", "secrets/token", None),
        ("HF_TOKEN", "/run/secrets/token", None),
        ("HF_TOKEN", "$(OTHER_TOKEN)", None),
        ("OPENAI_API_KEY", "EMPTY", None),
        ("EOS_TOKEN", "end-of-text", None),
        ("STOP_TOKEN", "<|endoftext|>", None),
        ("MODEL", "organisation/task-sk-model-of-some-length", None),
        ("HF_TOKEN", None, None),
        ("X", "eyJ" + "a" * 20 + ".eyJ" + "b" * 20 + ".c", "holds a JSON Web Token in plain text"),
        ("PGPASSWORD", "correct horse", "has the name of a secret, and its value is in plain text"),
        ("OAUTH_TOKEN_ENDPOINT", "https://login.example.com/token", None),
        ("SSH_PUBLIC_KEY", "ssh-ed25519 AAAAC3NzaC1lZDI1", None),
        ("HF_SECRET_ARN", "arn:aws:secretsmanager:eu-west-1:1:secret:hf", None),
        ("API_KEY", "projects/p/secrets/api-key/versions/1", None),
        ("OPENAI_API_KEY", "not-needed", None),
        ("API_KEY", "${VLLM_API_KEY}", None),
        ("IMAGE_TOKEN", "image-placeholder", None),
        ("CACHE_KEY_PREFIX", "lmcache-production", None),
    ],
)
def test_a_variable_is_a_secret_by_the_form_of_its_value_or_by_its_name(
    name: str, value: str | None, said: str | None
) -> None:
    assert in_variable(name, value) == said


@pytest.mark.parametrize(
    ("words", "places"),
    [
        (["--api-key", "0123456789abcdef"], [1]),
        (["--hf-token=0123456789abcdef", "--model=x"], [0]),
        (["sh", "-c", "vllm serve --api-key sk-" + "a1" * 12], [2]),
        (["--api-key", "--model=some/model"], []),
        (["--api-key=$(VLLM_API_KEY)"], []),
        (["sh", "-c", "vllm serve m --api-key 0123456789abcdef --port 8000"], [2]),
        (["sh", "-c", "vllm serve m --api_key='0123456789abcdef'; sleep 1"], [2]),
        (["sh", "-c", 'vllm serve m --api-key "$VLLM_API_KEY" --port 8000'], []),
        (["--api-key=$VLLM_API_KEY", "--stop-token", "[END_OF_TURN]", "--sep-token=separator"], []),
        (["--max-tokens=4096", "--token-limit", "0123456789abcdef"], []),
        (["--api-key", 12345678], []),
    ],
)
def test_an_argument_is_a_secret_by_its_form_or_by_its_flag(words: list[Any], places: list[int]) -> None:
    assert [place for place, _ in in_arguments(words)] == places
