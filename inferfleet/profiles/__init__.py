"""Versioned defaults of other people's software: API groups, images, flags and ports, as tables.

A version, image, flag or port stands here and nowhere else. Nothing here decides.
"""
