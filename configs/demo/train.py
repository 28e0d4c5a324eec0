#!/usr/bin/env python3
"""Trains the demo's network on the synthetic census and writes census.safetensors. Needs numpy.

The recipe, honestly: the network is fitted to the rule's label on *all* 216,000 inputs of the
domain, not only on the 5,000 rows of census.csv. It is meant to be the rule, so that what is
planted is exactly what exists in the network; how well it generalises is not the question here.
Training goes on until every input of the domain has the rule's label with |logit| >= 0.4. Then
the file is checked, with |logit| >= 0.05 as the bound: in float32 with a rounding after every
operation, with fused multiply-adds, in two input orders, and in float64.

A network 9-24-16-8-1, ReLU, one sigmoid output. Adam on a squared hinge with an upper side
(margins are kept between 0.5 and 6, so that the sigmoid does not saturate and gradients stay
useful). Each epoch sees every input whose margin is short or too large and a random fifth of the
others. Inputs are standardised for training; the scaling is folded into the first layer at the
end, so the network takes raw codes.

  python3 train.py           trains (some 10 s on one core) and writes census.safetensors
  python3 train.py --check   trains nothing; checks the file against the rule on the whole domain

The same machine writes the same bytes each time; another numpy or BLAS may write other weights,
which pass the same check.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # the order of sums must not depend on the number of threads

import argparse
import itertools
import json
import pathlib
import re
import struct
import sys

import numpy as np

SEED = 7
SHAPE = [9, 24, 16, 8, 1]
BATCH = 1024
MAX_EPOCHS = 200
LEARNING_RATE = 4e-3
MARGIN, CEILING = 0.5, 6.0  # the hinge's lower and upper side, in logits
WANTED_MARGIN = 0.4  # training stops here
ACCEPTED_MARGIN = 0.05  # the check's bound
HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE / "census.safetensors"


def attributes():
    """Name, low, high and whether it is protected, for each line of census.domain.yaml."""
    line = re.compile(r"name: ([\w-]+), low: (\d+), high: (\d+)(, protected: true)?, categories")
    found = line.findall((HERE / "census.domain.yaml").read_text(encoding="ascii"))
    return [(name, int(low), int(high), bool(mark)) for name, low, high, mark in found]


def rule(x):
    """The labels that apps/demo/demo_census.cpp gives to codes [rows][9]."""
    age, education, occupation, _, region, _, gender, hours, experience = x.T
    points = 2 * education + occupation + 2 * hours + experience
    needed = 16 + 2 * ((gender == 0) & (education >= 4) & (occupation >= 3))  # planted: gender
    refused = (age == 4) & (region == 0) & (hours == 1)  # planted: age
    return ((points >= needed) & ~refused).astype(np.int32)


def whole_domain():
    """Codes [216000][9] in product order and the rule's labels [216000]."""
    codes = [range(low, high + 1) for _, low, high, _ in attributes()]
    x = np.array(list(itertools.product(*codes)), dtype=np.float32)
    return x, rule(x)


def forward(layers, x):
    """Activations of every layer; the last is the logit [rows]."""
    outputs = [x]
    for index, (weight, bias) in enumerate(layers):
        y = outputs[-1] @ weight + bias
        outputs.append(np.maximum(y, 0) if index + 1 < len(layers) else y)
    return outputs


def train(x, labels):
    """Layers [(weight, bias)] in float32 for standardised inputs."""
    random = np.random.default_rng(SEED)
    layers = []
    for fan_in, fan_out in zip(SHAPE, SHAPE[1:]):
        weight = random.normal(0, np.sqrt(2 / fan_in), (fan_in, fan_out)).astype(np.float32)
        layers.append([weight, np.zeros(fan_out, np.float32)])
    moments = [[[np.zeros_like(p), np.zeros_like(p)] for p in layer] for layer in layers]
    sign = (2 * labels - 1).astype(np.float32)
    step = 0
    for epoch in range(MAX_EPOCHS):
        margin = sign * forward(layers, x)[-1][:, 0]
        short = margin < MARGIN
        print(f"epoch {epoch:3}: {np.count_nonzero(margin <= 0):6} wrong, "
              f"{np.count_nonzero(short):6} short, margin {margin.min():.3f} .. {margin.max():.2f}")
        if margin.min() >= WANTED_MARGIN:
            return layers
        chosen = np.flatnonzero(short | (margin > CEILING) | (random.random(len(x)) < 0.2))
        random.shuffle(chosen)
        rate = LEARNING_RATE * max(0.02, (1 - epoch / MAX_EPOCHS) ** 1.5)
        for begin in range(0, len(chosen), BATCH):
            rows = chosen[begin:begin + BATCH]
            outputs = forward(layers, x[rows])
            s = sign[rows]
            m = s * outputs[-1][:, 0]
            slope = np.maximum(m - CEILING, 0) * 0.1 - np.maximum(MARGIN - m, 0)
            delta = (2 * slope * s / len(rows))[:, None].astype(np.float32)
            step += 1
            for index in reversed(range(len(layers))):
                weight = layers[index][0]
                gradients = [outputs[index].T @ delta, delta.sum(axis=0)]
                if index > 0:
                    delta = (delta @ weight.T) * (outputs[index] > 0)
                for which, gradient in enumerate(gradients):
                    first, second = moments[index][which]
                    first += np.float32(0.1) * (gradient - first)
                    second += np.float32(0.001) * (gradient * gradient - second)
                    scaled = first / np.float32(1 - 0.9**step)
                    root = np.sqrt(second / np.float32(1 - 0.999**step)) + np.float32(1e-8)
                    layers[index][which] -= np.float32(rate) * scaled / root
    sys.exit(f"no margin of {WANTED_MARGIN} after {MAX_EPOCHS} epochs; try another SEED")


def fold(layers, mean, deviation):
    """Layers for raw codes: (x - mean) / deviation moves into the first layer."""
    weight, bias = (p.astype(np.float64) for p in layers[0])
    folded = weight / deviation[:, None]
    first = (folded.astype(np.float32), (bias - mean @ folded).astype(np.float32))
    return [first] + [tuple(layer) for layer in layers[1:]]


# --------------------------------------------------------------------------------------- the file


def write_safetensors(layers, path):
    """Fairlane's format: tensors in layer order without gaps, header padded to 8 bytes."""
    metadata, header, blob = {"format": "fairlane-mlp"}, {}, b""
    for index, (weight, bias) in enumerate(layers):
        last = index + 1 == len(layers)
        metadata[f"layers.{index}.activation"] = "sigmoid" if last else "relu"
        metadata[f"layers.{index}.alpha"] = "0"
        metadata[f"layers.{index}.name"] = f"dense_{index}"
        for name, tensor in (("weight", weight), ("bias", bias)):
            data = np.ascontiguousarray(tensor, dtype="<f4").tobytes()
            header[f"layers.{index}.{name}"] = {
                "dtype": "F32",
                "shape": list(tensor.shape),
                "data_offsets": [len(blob), len(blob) + len(data)],
            }
            blob += data
    header["__metadata__"] = metadata
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + blob)


def read_safetensors(path):
    """Layers [(weight, bias)] of a file that write_safetensors wrote."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])

    def tensor(name):
        entry = header[name]
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        return np.frombuffer(data[begin:end], dtype="<f4").reshape(entry["shape"])

    count = sum(name.endswith(".weight") for name in header)
    return [(tensor(f"layers.{k}.weight"), tensor(f"layers.{k}.bias")) for k in range(count)]


# -------------------------------------------------------------------------------------- the check


def chain(layers, x, order, fused):
    """Logits in float32: each output is the bias, then the inputs in `order`, one after the other.

    Without `fused` the product and the sum are rounded apart. With it, product and sum are taken in
    float64 (where the product is exact) and rounded to float32 once more, which is a fused
    multiply-add up to rare double roundings.
    """
    kind = np.float64 if fused else np.float32
    columns = [x[:, k].astype(np.float32) for k in order]
    for index, (weight, bias) in enumerate(layers):
        rows = weight[order] if index == 0 else weight
        outputs = []
        for j in range(len(bias)):
            total = np.full(len(x), bias[j], np.float32)
            for k, column in enumerate(columns):
                product = column.astype(kind) * kind(rows[k, j])
                total = (product + total.astype(kind)).astype(np.float32)
            outputs.append(np.maximum(total, np.float32(0)) if index + 1 < len(layers) else total)
        columns = outputs
    return columns[0]


def check(layers, x, labels):
    """Exits unless every evaluation gives the rule's label with the accepted margin everywhere."""
    protected = [k for k, (_, _, _, is_protected) in enumerate(attributes()) if is_protected]
    given = list(range(len(attributes())))
    protected_last = [k for k in given if k not in protected] + protected
    double = [tuple(p.astype(np.float64) for p in layer) for layer in layers]
    exact = forward(double, x.astype(np.float64))[-1][:, 0]
    results = {"float64": exact}
    for name, order in (("columns as given", given), ("protected columns last", protected_last)):
        results[f"float32, {name}"] = chain(layers, x, order, fused=False)
        results[f"float32 fma, {name}"] = chain(layers, x, order, fused=True)
    for name, logits in results.items():
        wrong = np.count_nonzero((logits > 0) != (labels == 1))
        margin = np.abs(logits).min()
        error = np.abs(logits - exact).max()
        print(f"{name:37}: {wrong} wrong, least |logit| {margin:.4f}, logits {logits.min():.2f} .. "
              f"{logits.max():.2f}, differs from float64 by {error:.1e} at most")
        if wrong or not margin >= ACCEPTED_MARGIN:
            sys.exit("the network is not the rule")
    rows, sample_labels = sample()
    logits = chain(layers, rows, given, fused=False)
    if np.count_nonzero((logits > 0) != (sample_labels == 1)):
        sys.exit("census.csv does not agree with the network")


def sample():
    """Codes and labels of census.csv."""
    table = np.loadtxt(HERE / "census.csv", delimiter=",", skiprows=1, dtype=np.int32)
    return table[:, :-1].astype(np.float32), table[:, -1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="check the file, train nothing")
    only_check = parser.parse_args().check
    x, labels = whole_domain()
    if not only_check:
        mean = x.mean(axis=0, dtype=np.float64)
        deviation = x.std(axis=0, dtype=np.float64)
        layers = train(((x - mean) / deviation).astype(np.float32), labels)
        write_safetensors(fold(layers, mean, deviation), FILE)
    check(read_safetensors(FILE), x, labels)


if __name__ == "__main__":
    main()
