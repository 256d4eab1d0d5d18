#!/usr/bin/env python3
"""Writes the first inputs of every target, from tests/corpus, tests/invalid, and the oracle's data.

Usage: dev/fuzz/seed.py FOLDER. Needs PyYAML. Only a new corpus needs it. Each target gets a file with
one input a line, in base64.
"""

import base64
import glob
import gzip
import json
import os
import random
import sys

import yaml

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
OUT = sys.argv[1]
random.seed(1)
inputs = {}


def write(target, data):
    if not isinstance(data, bytes):
        text = data if isinstance(data, str) else json.dumps(data, separators=(",", ":"), default=str)
        data = text.encode()
    inputs.setdefault(target, set()).add(base64.b64encode(data).decode())


def lines(path):
    with gzip.open(os.path.join(ROOT, "tests/oracle", path), "rt") as file:
        return [json.loads(line) for line in file]


def quantities(value):
    if isinstance(value, dict):
        for key, member in value.items():
            if key in ("limits", "requests", "capacity") and isinstance(member, dict):
                yield from map(str, member.values())
            else:
                yield from quantities(member)
    elif isinstance(value, list):
        for item in value:
            yield from quantities(item)


def manifests():
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/corpus/*.yaml"))):
        yield yaml.safe_load(open(path))
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/invalid/*.yaml"))):
        yield yaml.safe_load(open(path))


cases = lines("dev.jsonl.gz")
kinds = {}
for case in cases:
    kinds.setdefault(case["kind"], []).append(case)
chosen = [case for group in kinds.values() for case in group[:25]]
found = list(manifests())
templates = [manifest.get("spec", {}).get("template") for manifest in found]
for manifest, template in zip(found, templates):
    write("workload", manifest)
    write("template", [template, ""])
    write("equality", [template, random.choice(templates)])
    write("selector", [manifest.get("spec", {}).get("selector"), ((template or {}).get("metadata") or {}).get("labels")])
    for quantity in quantities(template):
        write("quantity", quantity)
for case in chosen:
    deployment, sets = case["input"]["deployment"], case["input"].get("replicaSets") or []
    pods = case["input"].get("pods") or []
    own = json.loads(json.dumps(deployment))
    own["apiVersion"] = "rollwright.dev/v1"
    write("workload", deployment)
    write("reconcile", [deployment, *sets, *pods])
    write("reconcile", [own, *sets, *pods])
    other = random.choice(chosen)["input"]["deployment"].get("status")
    write("status", [deployment.get("status"), other])
    for item in [*sets, *pods]:
        write("replica_set", item)
        metadata = item["metadata"]
        write("selector", [deployment["spec"].get("selector"), metadata.get("labels")])
        notes = metadata.get("annotations") or {}
        prefix = "deployment.kubernetes.io/"
        write("revision", "\n".join([notes.get(prefix + "revision", ""), notes.get(prefix + "revision-history", ""),
                                     str(random.randrange(20)), ",".join(str(random.randrange(9)) for _ in range(4))]))
        rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
        limits = [json.dumps(rolling.get(field, "25%")) for field in ("maxSurge", "maxUnavailable")]
        counts = " ".join(str(random.randrange(30)) for _ in range(7))
        write("number", "\n".join([notes.get(prefix + "desired-replicas", ""), *limits, counts]))
for line in lines("functions-dev.jsonl.gz"):
    given = line["in"]
    if line["fn"] == "EqualIgnoreHash":
        write("equality", [given["a"], given["b"]])
        write("template", [given["a"], "v1:" + "ab" * 32 + ",v2:beef"])
    elif line["fn"] == "DeploymentProgressing":
        write("status", [given["old"], given["new"]])
    elif line["fn"] == "Revisions":
        write("revision", "7\n1,2\n3\n" + ",".join(map(str, given["revisions"])))
    elif line["fn"] == "ReplicasAnnotation":
        write("number", f"{given['value']}\n\"25%\"\n1\n1 2 3 4 5 6 7")
for quantity in ["1.5Gi", "100m", "1e3", "1E", "-0.000000001", ".5", "5.", "+1Ki", "1n", "3u", "2M", "1T", "4P", "7Ei", "1E-3"]:
    write("quantity", quantity)
write("revision", "\n" + ",".join(map(str, range(400, 1000))) + "\n1000\n9223372036854775806,-1,,7")
for size in (16, 200, 1000, 3000):
    for first in range(3):
        write("planner", bytes([first]) + random.randbytes(size))
deep = lambda depth: "[" * depth + "]" * depth
for target in ("workload", "replica_set", "template", "equality", "status", "selector", "reconcile"):
    write(target, deep(120))
    write(target, deep(2000))
    write(target, '{"spec":{"replicas":1,"replicas":2},"metadata":{"name":"a","name":"b"}}')
os.makedirs(OUT, exist_ok=True)
for target, lines_of_target in inputs.items():
    with open(os.path.join(OUT, f"{target}.base64"), "w") as file:
        file.writelines(f"{line}\n" for line in sorted(lines_of_target))
