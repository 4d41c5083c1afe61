"""What replicas need once plugins have edited their pods: worked out before the plan, checked after it.

How a plan counts belongs in `fleet`, how a chain runs in `plugins`.
"""
