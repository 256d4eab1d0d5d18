"""Checks the Grafana dashboard, and prints its expressions as rules that promtool can check."""

import json
import re
import sys

VARIABLES = {
    "$__rate_interval": "5m",
    "$namespace": ".*",
    "$deployment": ".*",
    "$job": ".*",
    "$api": ".*",
}
# Metrics with these labels. A panel shows only what the variables select.
LABELLED = {
    "deployment": r"rollwright_(deployment_|rollout_blocked$)",
    "namespace": r"rollwright_(deployment_|rollouts?_|change_failures_|restore_)",
}
KINDS = {"row", "stat", "timeseries", "table"}


def main(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        dashboard = json.load(file)
    assert dashboard["uid"] == "rollwright" and dashboard["title"], "uid and title"
    assert dashboard["schemaVersion"] >= 36, "schemaVersion"
    variables = {entry["name"]: entry for entry in dashboard["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource", "a data source to choose"
    assert variables["datasource"]["query"] == "prometheus", "of type Prometheus"
    assert set(VARIABLES) == {"$__rate_interval"} | {f"${name}" for name in variables} - {"$datasource"}, "variables"
    ids, cells, expressions = set(), set(), []
    for panel in dashboard["panels"]:
        name = panel["title"]
        assert panel["type"] in KINDS, f"{name}: type {panel['type']}"
        assert panel["id"] not in ids, f"{name}: id {panel['id']} is taken"
        ids.add(panel["id"])
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, f"{name}: wider than the grid"
        for cell in ((x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])):
            assert cell not in cells, f"{name}: overlaps another panel"
            cells.add(cell)
        if panel["type"] == "row":
            continue
        assert panel["description"], f"{name}: says what it shows"
        assert panel["fieldConfig"]["defaults"]["unit"], f"{name}: unit"
        assert panel["targets"], f"{name}: shows something"
        for target in panel["targets"]:
            for source in (panel["datasource"], target["datasource"]):
                assert source == {"type": "prometheus", "uid": "${datasource}"}, f"{name}: data source"
            expression = target["expr"]
            for metric, selector in re.findall(r"\b(rollwright_\w+){(.*?)}", expression):
                for label, metrics in LABELLED.items():
                    is_selected = f'{label}=~"${label}"' in selector
                    assert is_selected or not re.match(metrics, metric), f"{name}: ${label} in {expression}"
            for variable, value in VARIABLES.items():
                expression = expression.replace(variable, value)
            assert "$" not in expression, f"{name}: unknown variable in {expression}"
            expressions.append(expression)
    rules = [{"record": f"panel:{number}", "expr": expr} for number, expr in enumerate(expressions)]
    # JSON is YAML.
    json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, sys.stdout)


main(sys.argv[1])
