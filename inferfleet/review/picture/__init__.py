"""The whole of a stack in one value, for one page: what runs where and why, what it costs, what is wrong.

Nothing is decided here: plan, digest and status are brought together by cluster, model and service.
"""
