"""Which permissions an update needs."""

from inferfleet.cloud.gke.facts.access import permissions


def test_only_clusters_with_a_dns_endpoint_are_connected_to_by_iam() -> None:
    by_ip, by_dns = (
        {permission.name for permission in permissions((), endpoints=[endpoint])}
        for endpoint in ("IP", "DNS")
    )
    assert by_dns - by_ip == {"container.clusters.connect"}
