"""Where the proxies of gateways are, by whose controller makes them."""

# The namespace in which Envoy Gateway is installed and runs its proxies by default:
# https://gateway.envoyproxy.io/docs/install/install-helm/
ENVOY_NAMESPACE = "envoy-gateway-system"
# Google's health checks, also of load balancers inside of a network:
# https://cloud.google.com/load-balancing/docs/health-check-concepts#ip-ranges
GOOGLE_HEALTH_CHECKS = ("130.211.0.0/22", "35.191.0.0/16")
