"""The subjects that cases.json names: the project's demo, the published benchmarks, and a network of
random weights whose shape is the goal's (13-64-32-16-8-4-1 with 9 protected variants)."""
import json
import math
import os
import pathlib
import random
import struct

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Absent(Exception):
    """A subject whose files are not on this machine; the message says which."""


def benchmarks():
    """The folder of published networks: FAIRLANE_BENCHMARKS, else shared/benchmarks beside the checkout."""
    chosen = os.environ.get("FAIRLANE_BENCHMARKS")
    folder = pathlib.Path(chosen) if chosen else ROOT.parent / "shared" / "benchmarks"
    if not (folder / "models").is_dir():
        raise Absent("benchmark folder not found; set FAIRLANE_BENCHMARKS to its path")
    return folder


def configuration(subject, folder):
    """Keys of a run's configuration that say what is tested. subject: an entry of cases.json's
    `subjects`; folder: where a network of random weights is written."""
    if subject["kind"] == "random":
        return random_network(subject, folder)
    root = ROOT if subject["kind"] == "project" else benchmarks()
    return {"model": str(root / subject["model"]), "domain": str(root / subject["domain"])}


def random_network(subject, folder):
    """Writes network and domain: He's weights, and a last bias that decides half of the inputs each way."""
    draw = random.Random(subject["seed"])
    shape, codes = subject["shape"], subject["codes"]
    layers = []
    for width, outputs in zip(shape, shape[1:]):
        weights = [[normal(draw) * math.sqrt(2.0 / width) for _ in range(outputs)] for _ in range(width)]
        layers.append((weights, [0.0] * outputs))
    logits = sorted(forward(layers, [draw.randrange(count) for count in codes])
                    for _ in range(subject["samples"]))
    layers[-1][1][0] = -logits[len(logits) // 2]
    model, domain = folder / "random.safetensors", folder / "random.domain.yaml"
    write_network(layers, model)
    attributes = [{"name": f"a{i}", "low": 0, "high": count - 1, "protected": i == 0}
                  for i, count in enumerate(codes)]
    domain.write_text(json.dumps({"name": "random", "label": "label", "attributes": attributes}),
                      encoding="utf-8")
    return {"model": str(model), "domain": str(domain)}


def normal(draw):
    """Box-Muller: random() gives the same numbers with every version of Python."""
    return math.sqrt(-2.0 * math.log(1.0 - draw.random())) * math.cos(2.0 * math.pi * draw.random())


def forward(layers, x):
    for index, (weights, biases) in enumerate(layers):
        x = [sum((a * row[j] for a, row in zip(x, weights)), bias) for j, bias in enumerate(biases)]
        if index + 1 < len(layers):
            x = [max(v, 0.0) for v in x]
    return x[0]


def write_network(layers, path):
    """Fairlane's format: tensors in layer order without gaps, header padded to 8 bytes."""
    metadata, header, blob = {"format": "fairlane-mlp"}, {}, b""
    for index, (weights, biases) in enumerate(layers):
        metadata[f"layers.{index}.activation"] = "sigmoid" if index + 1 == len(layers) else "relu"
        metadata[f"layers.{index}.alpha"] = "0"
        metadata[f"layers.{index}.name"] = f"dense_{index}"
        flat = [v for row in weights for v in row]
        for name, values, shape in (("weight", flat, [len(weights), len(biases)]),
                                    ("bias", biases, [len(biases)])):
            data = struct.pack(f"<{len(values)}f", *values)
            header[f"layers.{index}.{name}"] = {"dtype": "F32", "shape": shape,
                                                "data_offsets": [len(blob), len(blob) + len(data)]}
            blob += data
    header["__metadata__"] = metadata
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + blob)
