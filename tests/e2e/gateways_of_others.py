"""Manifests of gateways that are not the stack's: one beside its own on one port, one for all namespaces."""

OTHER = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: other, namespace: ml}
spec: {gatewayClassName: istio, listeners: [{name: http, protocol: HTTP, port: 8080}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: other, namespace: ml}
spec:
  parentRefs: [{name: other}]
  rules:
    - matches: [{path: {type: PathPrefix, value: /other}}]
      filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}]
      backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: one, port: 8000}]
"""

SHARED = """
apiVersion: v1
kind: Namespace
metadata: {name: shared}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: theirs, namespace: shared}
spec:
  gatewayClassName: istio
  listeners: [{name: http, protocol: HTTP, port: 8081, allowedRoutes: {namespaces: {from: All}}}]
"""
