"""Writes the subjects of signatures_test.py into a folder: networks, domains, tables and configurations.

Everything follows from integers: the same bytes on every machine, with no library but Python's own. Two numbers per
network, `seed` and `shift`, were chosen so that its decisions depend on protected attributes here and there.
"""
import json
import pathlib
import shutil
import struct
import sys

# Formats that other libraries wrote; the files lie in the checkout.
EXPORTED = ("keras.keras", "keras.onnx", "torch.onnx", "skl2onnx.onnx", "tensorflow.index",
            "tensorflow.data-00000-of-00001")
TREES = ("xgboost_logistic.json", "xgboost_softprob.ubj", "xgboost_partition.ubj", "lightgbm_binary.txt",
         "lightgbm_categories.txt", "lightgbm_ova.txt", "sklearn_forest.json", "sklearn_boosting3.json")


class Draws:
    """Integers from a seed: SplitMix64, so that no version of Python changes them."""

    def __init__(self, seed):
        self.state = seed

    def below(self, count):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        word = self.state
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
        return (word ^ word >> 31) % count


class Layer:
    """weights [inputs][outputs], bias [outputs]"""

    def __init__(self, weights, bias, activation, alpha=0.0):
        self.weights, self.bias, self.activation, self.alpha = weights, bias, activation, alpha


def network(seed, ranges, widths, activations, shift=0.0, bias=None):
    """Layers whose first one sees inputs of the given (low, high) as numbers of about -1..1, around their middle.

    shift  added to the bias of the last layer's first output
    bias   of the last layer, instead of drawn ones
    """
    draws = Draws(seed)
    layers = []
    for number, (inputs, outputs) in enumerate(zip((len(ranges), *widths), widths)):
        if number == 0:
            units = [2.0 ** -(max(1, int(high - low)).bit_length() - 1) for low, high in ranges]
            middles = [(low + high) / 2 for low, high in ranges]
        else:
            units = [2.0 ** -((inputs.bit_length() - 1) // 2)] * inputs
            middles = [0.0] * inputs
        weights = [[(draws.below(129) - 64) / 64 * unit for _ in range(outputs)] for unit in units]
        offsets = [(draws.below(65) - 32) / 128 - sum(w[o] * m for w, m in zip(weights, middles))
                   for o in range(outputs)]
        layers.append(Layer(weights, offsets, activations[number], 0.25))
    if bias is not None:
        layers[-1].bias = bias
    layers[-1].bias[0] += shift
    return layers


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def flat(weights):
    return [value for row in weights for value in row]


def safetensors(layers):
    """The bytes of a network in Fairlane's own format."""
    metadata, header, data = {"format": "fairlane-mlp"}, {}, b""
    for k, layer in enumerate(layers):
        metadata[f"layers.{k}.activation"] = layer.activation
        metadata[f"layers.{k}.alpha"] = str(layer.alpha)
        for name, shape, values in (("weight", [len(layer.weights), len(layer.bias)], flat(layer.weights)),
                                    ("bias", [len(layer.bias)], layer.bias)):
            end = len(data) + 4 * len(values)
            header[f"layers.{k}.{name}"] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), end]}
            data += floats(values)
    text = json.dumps({"__metadata__": metadata, **header}).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


class H5:
    """What a Keras 2 file needs of HDF5: groups, attributes that are strings, and float32 in one piece.

    Source: HDF5 File Format Specification 3.0, superblock 0, object headers of version 1.
    """
    UNDEFINED = 2**64 - 1
    SUPERBLOCK = 96

    def __init__(self):
        self.blocks = b""

    def add(self, block):
        """Its address."""
        address = self.SUPERBLOCK + len(self.blocks)
        self.blocks += block + b"\0" * (-len(block) % 8)
        return address

    def add_object(self, messages):
        body = b""
        for kind, text in messages:
            text += b"\0" * (-len(text) % 8)
            body += struct.pack("<HHB3x", kind, len(text), 0) + text
        return self.add(struct.pack("<BxHIIxxxx", 1, len(messages), 1, len(body)) + body)

    @staticmethod
    def space(shape):
        return struct.pack(f"<BBB5x{len(shape)}Q", 1, len(shape), 0, *shape)

    def strings(self, name, values, shape):
        width = max(len(value) for value in values)
        kind, space = struct.pack("<B3BI", 0x13, 1, 0, 0, width), self.space(shape)
        parts = b"".join(part + b"\0" * (-len(part) % 8) for part in (name.encode() + b"\0", kind, space))
        data = b"".join(value.encode().ljust(width, b"\0") for value in values)
        return 0x0C, struct.pack("<BxHHH", 1, len(name) + 1, len(kind), len(space)) + parts + data

    def add_group(self, members, attributes=()):
        links = [(0x06, struct.pack("<BBB", 1, 0, len(name)) + name.encode() + struct.pack("<Q", address))
                 for name, address in members]
        info = 0x02, struct.pack("<BBQQ", 0, 0, self.UNDEFINED, self.UNDEFINED)
        return self.add_object([info, *links, *attributes])

    def add_floats(self, shape, values):
        float32 = struct.pack("<B3BIHHBBBBI", 0x11, 0x20, 31, 0, 4, 0, 32, 23, 8, 0, 23, 127)
        at = self.add(floats(values))
        layout = struct.pack("<BBQQ", 3, 1, at, 4 * len(values))
        return self.add_object([(0x01, self.space(shape)), (0x03, float32), (0x08, layout)])

    def bytes(self, root):
        head = b"\x89HDF\r\n\x1a\n" + bytes([0, 0, 0, 0, 0, 8, 8, 0]) + struct.pack("<HHI", 4, 16, 0)
        end = self.SUPERBLOCK + len(self.blocks)
        head += struct.pack("<QQQQ", 0, self.UNDEFINED, end, self.UNDEFINED)
        return head + struct.pack("<QQI20x", 0, root, 0) + self.blocks


def keras_h5(layers):
    """The bytes of a network as Keras 2 saves it."""
    file, groups, names, dense = H5(), [], [], []
    for k, layer in enumerate(layers):
        name, shape = f"dense_{k}", (len(layer.weights), len(layer.bias))
        members = [("kernel:0", file.add_floats(shape, flat(layer.weights))),
                   ("bias:0", file.add_floats(shape[1:], layer.bias))]
        inner = file.add_group([(name, file.add_group(members))],
                               [file.strings("weight_names", [f"{name}/kernel:0", f"{name}/bias:0"], [2])])
        groups.append((name, inner))
        names.append(name)
        dense.append({"class_name": "Dense", "config": {"name": name, "units": shape[1],
                                                        "activation": layer.activation}})
    weights = file.add_group(groups, [file.strings("layer_names", names, [len(names)])])
    config = json.dumps({"class_name": "Sequential", "config": {"name": "model", "layers": dense}})
    return file.bytes(file.add_group([("model_weights", weights)], [file.strings("model_config", [config], [])]))


class Folder:
    """Where the subjects are written, each under its name."""

    def __init__(self, path, source):
        self.path, self.source = pathlib.Path(path), pathlib.Path(source)

    def copy(self, *parts):
        shutil.copyfile(self.source.joinpath(*parts), self.path / parts[-1])

    def write(self, name, text):
        (self.path / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    def domain(self, name, attributes):
        """attributes: {name: words of the domain file}"""
        lines = [f"  - {{name: {key}, {words}}}\n" for key, words in attributes.items()]
        self.write(f"{name}.domain.yaml", f"name: {name}\nlabel: label\nattributes:\n{''.join(lines)}")

    def table(self, name, seed, columns, rows):
        """columns: {name: the codes that occur}"""
        draws = Draws(seed)
        lines = [",".join([*columns, "label"])]
        for _ in range(rows):
            codes = [codes[draws.below(len(codes))] for codes in columns.values()]
            lines.append(",".join(map(str, [*codes, draws.below(2)])))
        self.write(f"{name}.csv", "\n".join(lines) + "\n")

    def config(self, name, model, domain, protected, data=None):
        seeding = "" if data else ", seeding: uniform"
        self.write(f"{name}.yaml", f"model: {model}\n" + (f"data: {data}.csv\n" if data else "") +
                   f"domain: {domain}.domain.yaml\nprotected: {protected}\nmethod: eidig\nseed: 42\n"
                   f"global: {{num: 40{seeding}}}\nlocal: {{num: 40}}\n")


def write_census(folder):
    """The demo's network of one sigmoid, 9 attributes and 5000 rows."""
    for name in ("census.safetensors", "census.csv", "census.domain.yaml"):
        folder.copy("configs", "demo", name)
    folder.config("census", "census.safetensors", "census", "[gender]", "census")
    header, *rows = (folder.path / "census.csv").read_text().splitlines()
    rows = rows[:120]
    for at, column, code in ((3, 0, 7), (40, 4, -2), (41, 5, 9), (90, 8, 0)):  # outside the domain
        cells = rows[at].split(",")
        cells[column] = str(code)
        rows[at] = ",".join(cells)
    folder.write("strays.csv", "\n".join([header, *rows]) + "\n")
    folder.config("strays", "census.safetensors", "census", "[gender]", "strays")
    seeds = [line.rsplit(",", 1)[0] for line in (header, *rows[4:24])]
    folder.write("seeds.csv", "\n".join(seeds) + "\n")
    ranges = [(1, 4), (1, 5), (0, 5), (0, 2), (0, 3), (0, 4), (0, 1), (1, 3), (1, 5)]
    layers = network(3, ranges, (300, 130, 1), ("relu", "relu", "sigmoid"), 0.125)
    folder.write("many_units.safetensors", safetensors(layers))
    folder.config("many_units", "many_units.safetensors", "census", "[gender, age]", "census")


def write_encoded(folder):
    """Every encoding, lists of values, an attribute that no search changes."""
    folder.domain("encoded", {
        "age": "low: 17, high: 90, protected: true, encoding: {affine: {mean: 38.5, std: 13.75}}",
        "job": "low: 0, high: 8, encoding: one-hot",
        "sex": "low: 0, high: 1, protected: true, encoding: {one-hot: {drop: first}}",
        "education": "low: 0, high: 2, encoding: {table: [[0.1, 1], [0.4, 0], [0.9, 0]]}",
        "children": "values: [0, 1, 2, 5]",
        "origin": "low: 0, high: 3, immutable: true",
        "hours": "values: [10, 20, 35, 40, 60], encoding: one-hot",
        "race": "low: 0, high: 4, protected: true, encoding: {one-hot: {drop: first}}",
        "region": "low: -3, high: 3",
    })
    folder.table("encoded", 11, {
        "age": range(17, 91), "job": range(9), "sex": range(2), "education": range(3), "children": (0, 1, 2, 5),
        "origin": range(4), "hours": (10, 20, 35, 40, 60), "race": range(5), "region": range(-3, 4)}, 300)
    ranges = ([(-1, 3)] + [(0, 1)] * 9 + [(0, 1)] + [(0, 1)] * 2 + [(0, 5), (0, 3)] + [(0, 1)] * 5 +
              [(0, 1)] * 4 + [(-3, 3)])
    folder.write("encoded.safetensors",
                 safetensors(network(5, ranges, (20, 12, 1), ("tanh", "elu", "sigmoid"), -0.25)))
    folder.config("encoded", "encoded.safetensors", "encoded", "[sex]", "encoded")


def write_classes(folder):
    """Several outputs; and the network of Keras 2, in its own format and in ours."""
    codes = {"a": (0, 9), "b": (1, 6), "c": (0, 3), "d": (-4, 4), "e": (0, 1), "f": (0, 4)}
    folder.domain("codes", {
        name: f"low: {low}, high: {high}" + (", protected: true" if name in "ef" else "")
        for name, (low, high) in codes.items()})
    folder.table("codes", 13, {name: range(low, high + 1) for name, (low, high) in codes.items()}, 200)
    ranges = list(codes.values())
    classes = network(25, ranges, (14, 10, 8, 3), ("leaky_relu", "elu", "sigmoid", "softmax"), bias=[0.0, 0.0, 0.0])
    folder.write("classes.safetensors", safetensors(classes))
    folder.config("classes", "classes.safetensors", "codes", "[e]", "codes")
    gated = network(31, ranges, (14, 10, 8, 1), ("silu", "gelu", "gelu_tanh", "sigmoid"), 0.0)
    folder.write("gated.safetensors", safetensors(gated))
    folder.config("gated", "gated.safetensors", "codes", "[e]", "codes")
    small = network(19, ranges, (12, 6, 1), ("relu", "tanh", "sigmoid"), 0.125)
    folder.write("small.h5", keras_h5(small))
    folder.write("small.safetensors", safetensors(small))
    for kind in ("h5", "safetensors"):
        folder.config(f"small_{kind}", f"small.{kind}", "codes", "[f]", "codes")


def write_undefined(folder):
    """Part of the first unit's inputs leave float32: 1e38 (a + 2 e - 4), then divided by as much."""
    folder.domain("undefined", {"a": "low: 0, high: 5", "b": "low: 0, high: 7", "c": "low: 0, high: 7",
                                "e": "low: 0, high: 2, protected: true"})
    first = [[1e38, 0.5, -0.25], [0.0, 0.75, 0.5], [0.0, -0.5, 0.75], [2e38, 1.5, -1.25]]
    layers = [Layer(first, [-4e38 / 2, -1.0, -1.5], "relu"), Layer([[1e-38], [0.5], [-1.0]], [0.5], "sigmoid")]
    folder.write("undefined.safetensors", safetensors(layers))
    folder.config("undefined", "undefined.safetensors", "undefined", "[e]")


def write_wide_domains(folder):
    """More inputs than 2^60, so that a group's key takes several words: 2^73, and 8 * 10^42."""
    vast = {f"x{i}": (-500, 499) for i in range(14)}
    cases = (("beyond", {f"x{i}": (0, 1023) for i in range(7)}, 23, -0.125), ("vast", vast, 29, 0.125))
    for name, codes, seed, shift in cases:
        codes["group"] = (0, 3)
        codes["sex"] = (0, 1)
        folder.domain(name, {key: f"low: {low}, high: {high}" + (", protected: true" if key in ("group", "sex") else "")
                             for key, (low, high) in codes.items()})
        folder.table(name, seed, {key: range(low, high + 1) for key, (low, high) in codes.items()}, 60)
        layers = network(seed, list(codes.values()), (16, 8, 1), ("relu", "relu", "sigmoid"), shift)
        folder.write(f"{name}.safetensors", safetensors(layers))
        folder.config(name, f"{name}.safetensors", name, "[group]", name)


def write_skipping(folder):
    """2.4e9 groups, most of them in boxes that are proven to have one label."""
    codes = {f"x{i}": (0, 10) for i in range(9)} | {"sex": (0, 1)}
    folder.domain("skipping", {key: f"low: {low}, high: {high}" + (", protected: true" if key == "sex" else "")
                               for key, (low, high) in codes.items()})
    weights = [[2.0 ** (2 - i), 2.0 ** -i] for i in range(9)] + [[-0.25, 0.5]]
    layers = [Layer(weights, [-40.0, -8.0], "relu"), Layer([[1.0], [-0.5]], [-30.0], "sigmoid")]
    folder.write("skipping.safetensors", safetensors(layers))
    folder.config("skipping", "skipping.safetensors", "skipping", "[sex]")


def write_exported(folder):
    """Networks as other libraries write them: 3 -> 4 -> 4 -> 2, and scikit-learn's."""
    for name in EXPORTED:
        folder.copy("tests", "models", "exported", name)
    for name, low, high in (("exported", -8, 8), ("skl2onnx", 0, 4)):
        folder.domain(name, {key: f"low: {low}, high: {high}" + (", protected: true" if key == "c" else "")
                             for key in "abc"})
    for name, model in (("keras_v3", "keras.keras"), ("keras_onnx", "keras.onnx"), ("torch_onnx", "torch.onnx"),
                        ("tensorflow", "tensorflow")):
        folder.config(name, model, "exported", "[c]")
    folder.config("skl2onnx", "skl2onnx.onnx", "skl2onnx", "[c]")


def write_trees(folder):
    folder.domain("trees", {"age": "low: -5, high: 60", "job": "low: 0, high: 11",
                            "degree": "low: 1, high: 4", "sex": "low: 0, high: 1, protected: true"})
    folder.table("trees", 31, {"age": range(-5, 61), "job": range(12), "degree": range(1, 5), "sex": range(2)}, 150)
    for name in TREES:
        folder.copy("tests", "models", "trees", name)
        folder.config(name.split(".")[0], name, "trees", "[degree, sex]", "trees")


def write_programs(folder):
    """Models that are programs, run by this interpreter whatever its path is."""
    folder.write("python", f"#!/bin/sh\nexec '{sys.executable}' -B \"$@\"\n")
    (folder.path / "python").chmod(0o755)
    folder.copy("tests", "models", "exec", "child.py")
    folder.copy("tests", "signatures", "rule_model.py")
    for kind in ("labels", "logits", "probabilities", "nan"):
        folder.config(f"rule_{kind}", f"\"exec:./python rule_model.py {kind}\"", "codes", "[f]", "codes")
    folder.config("child", "\"exec:./python child.py labels\"", "codes", "[a]", "codes")


def write_subjects(path, source):
    """All of them, into the folder `path`, from the checkout `source`."""
    folder = Folder(path, source)
    for write in (write_census, write_encoded, write_classes, write_undefined, write_wide_domains, write_skipping,
                  write_exported, write_trees, write_programs):
        write(folder)
