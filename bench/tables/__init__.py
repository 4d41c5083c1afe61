"""Writes tables about engines and pickers in `inferfleet/tables`, by asking those programs: `make tables`.

`write` is the program. It makes an environment of its own with the engines' packages (`environment`), in
which `real`, `flags`, `metrics` and `parse` run: they import nothing of inferfleet.
"""
