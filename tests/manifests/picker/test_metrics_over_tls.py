"""Metrics of pickers over TLS: with which flags for it a picker of llm-d-router 0.10 ends."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.manifests.picker.check import check_deployment
from inferfleet.manifests.picker.flags import mistakes
from inferfleet.profiles.table import profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]

ROW = profile("router-0.10")
MIRROR = "mirror.example.com/own-epp:v1"
FOLDER, CLIENTS = "metrics-cert-dir", "metrics-client-ca-file"
BARE = ("error", f".{CLIENTS}", f"{CLIENTS} is /ca.crt, and the picker exits without {FOLDER}")
ABSENT = (
    "error",
    f".{FOLDER}",
    f"{FOLDER} is /tls, and the picker exits, since its image has no tls.crt and tls.key there and nothing "
    "is mounted in its pod",
)
OPEN = (
    "error",
    f".{FOLDER}",
    f"{FOLDER} is /tls, and the picker exits, since it would serve metrics over TLS to everybody",
)


def _odd(flag: str, value: str) -> tuple[str, str, str]:
    return "warning", f".{flag}", f"{flag} is {value}, and nothing is mounted in the picker's pod"


def _said(document: ModelDeployment, serving: Serving) -> list[tuple[str, str, str]]:
    found = check_deployment(document, serving=serving, profile=ROW)
    return [(one.severity, one.path.removeprefix("spec.endpointPicker.flags"), one.what) for one in found]


@pytest.mark.parametrize(
    ("flags", "auth", "image", "said"),
    [
        ({CLIENTS: "/ca.crt"}, True, None, [BARE]),
        ({CLIENTS: "/ca.crt"}, True, MIRROR, [BARE]),
        ({FOLDER: "/tls"}, True, None, [ABSENT]),
        ({FOLDER: "/tls"}, True, MIRROR, [_odd(FOLDER, "/tls")]),
        ({FOLDER: "/tls"}, False, None, [ABSENT, OPEN]),
        ({FOLDER: "/tls"}, False, MIRROR, [OPEN]),
        (
            {FOLDER: "/tls", CLIENTS: "/ca.crt"},
            False,
            MIRROR,
            [_odd(FOLDER, "/tls"), _odd(CLIENTS, "/ca.crt")],
        ),
        ({FOLDER: "", CLIENTS: ""}, False, None, []),
    ],
)
def test_flags_with_which_the_picker_ends_are_errors_and_files_of_another_image_are_not(
    deployment: Make,
    serving: Serve,
    flags: dict[str, str],
    auth: bool,
    image: str | None,
    said: list[tuple[str, str, str]],
) -> None:
    picker: dict[str, Any] = {"flags": flags} | ({"image": image} if image else {})
    assert _said(deployment(endpointPicker=picker), serving(metricsAuth=auth)) == said


def test_what_a_cluster_and_a_deployment_write_counts_together(deployment: Make, serving: Serve) -> None:
    whole = deployment(endpointPicker={"flags": {CLIENTS: "/ca.crt"}, "image": MIRROR})
    half = serving(eppFlags={FOLDER: "/tls"}, metricsAuth=False)
    assert _said(whole, half) == [_odd(CLIENTS, "/ca.crt")]
    what = (
        f"{FOLDER} of serving.eppFlags is /tls, and the picker exits, since it would serve metrics over TLS"
    )
    assert _said(deployment(endpointPicker={"image": MIRROR}), half) == [
        ("error", "", f"{what} to everybody")
    ]


@pytest.mark.parametrize(
    ("value", "unknown", "step"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", None, ""),
        # Insecure ones, and those of TLS 1.3, are names all the same.
        ("TLS_RSA_WITH_RC4_128_SHA, TLS_AES_128_GCM_SHA256,", None, ""),
        ('"TLS_AES_128_GCM_SHA256"', None, ""),
        ('"",TLS_AES_128_GCM_SHA256', None, ""),
        ("", None, ""),
        ("foo", "foo", ""),
        ('"', '"', ""),
        (
            "ECDHE-RSA-AES128-GCM-SHA256",
            "ECDHE-RSA-AES128-GCM-SHA256",
            "Did you mean TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256?",
        ),
        (
            "TLS_AES_128_GCM_SHA256,tls_aes_256_gcm_sha384",
            "tls_aes_256_gcm_sha384",
            "Did you mean TLS_AES_256_GCM_SHA384?",
        ),
        (
            '"TLS_AES_128_GCM_SHA256',
            '"TLS_AES_128_GCM_SHA256',
            "Did you mean TLS_AES_128_GCM_SHA256?",
        ),
    ],
)
def test_cipher_suites_have_the_names_that_go_gives_them(value: str, unknown: str | None, step: str) -> None:
    found = [(each.what, each.next_step) for each in mistakes({"tls-cipher-suites": value}, ROW)]
    why = f"and the picker exits, since it does not know {unknown}"
    step = step or f"Its cipher suites: {', '.join(ROW.cipher_suites)}"
    assert found == ([] if unknown is None else [(f"tls-cipher-suites is {value!r}, {why}", step)])


@pytest.mark.parametrize("row", ["gie-1.5", "scheduler-0.7"])
def test_pickers_of_gie_have_no_such_flag(row: str) -> None:
    [found] = mistakes({"tls-cipher-suites": "TLS_AES_128_GCM_SHA256"}, profile(row))
    assert found.what == f"the endpoint picker of {profile(row).name} has no flag tls-cipher-suites"
