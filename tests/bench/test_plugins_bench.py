"""The chain that `bench/plugins.py` measures runs, whatever plugins come with inferfleet."""

from bench import plugins


def test_ten_plugins_change_every_template_that_is_measured() -> None:
    ten = tuple(plugins._plugin(name, change) for name, change in plugins.EDITS.items())
    (template,) = plugins._templates(plugins._documents(1, 1), ten)
    assert len(ten) == 10
    assert [container["name"] for container in template["spec"]["containers"]] == ["engine", "tokenizer"]
    assert template["metadata"]["annotations"] == {"example.com/team": "ml"}
