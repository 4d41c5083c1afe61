"""How what clusters serve is asked from outside of them: gateways, at their own addresses.

API servers and Google's APIs are asked by the modules above; here nobody's credentials are needed but a key
of the engines, where somebody wants to send one.
"""
