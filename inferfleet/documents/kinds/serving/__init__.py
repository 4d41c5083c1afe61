"""How models are served, part by part: blocks of clusters and deployments that have rules of their own.

What a whole cluster is belongs into `inference_cluster`, and what a deployment asks beside it into
`model_deployment`.
"""
