"""Releases of the serving software, a module each: what its pickers and proxies are, and where that is said.

A row that clusters can name stays as it is, because pods restart with it; what changes comes as another.
"""
