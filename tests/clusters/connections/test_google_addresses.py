"""Where Google's APIs are."""

from inferfleet.clusters.connections.google import GOOGLE, Addresses, addresses


def test_they_are_googles_own_unless_the_environment_says_otherwise() -> None:
    assert addresses({}) == GOOGLE
    prefix = "CLOUDSDK_API_ENDPOINT_OVERRIDES_"
    environment = {
        f"{prefix}CONTAINER": "http://a/",
        f"{prefix}COMPUTE": "http://b/v1/",
        f"{prefix}CLOUDQUOTAS": "",
        f"{prefix}SERVICEUSAGE": "http://c/",
        f"{prefix}CLOUDRESOURCEMANAGER": "http://d/",
        f"{prefix}ORGPOLICY": "http://e/",
    }
    expected = Addresses("http://a", "http://b/v1", GOOGLE.quotas, "http://c", "http://d", "http://e")
    assert addresses(environment) == expected
