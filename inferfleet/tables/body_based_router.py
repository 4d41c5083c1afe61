"""The body-based router of Gateway API Inference Extension 1.5.0, which writes the model of a request's body
into a header.

Image: config/charts/body-based-routing/values.yaml there, 2026-11-27.
"""

IMAGE = "registry.k8s.io/gateway-api-inference-extension/bbr:v1.5.0"
# It takes messages of gRPC up to 4,194,304 bytes, and no flag says otherwise. Larger bodies end with 503
# there, where a gateway that holds back fewer bytes answers 413.
LONGEST_BODY = "4000000"
