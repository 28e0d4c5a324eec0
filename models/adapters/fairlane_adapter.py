#!/usr/bin/env python3
"""Lets Fairlane test a model that Python can call: README.md here says how. Core and functions need numpy alone."""
import argparse
import os
import pathlib
import struct
import sys

# Unless the user says otherwise: children side by side share the cores already.
os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np  # noqa: E402  (it reads the variable when it is imported)

HANDSHAKE = struct.Struct("<8sIII")  # magic, version, and two numbers
HEADER = struct.Struct("<II")        # id, rows
MAGIC, VERSION = b"FAIRLANE", 1
KINDS = {"logits": 0, "probabilities": 1, "labels": 2}
TILE = 2048  # rows; large enough that calls cost little, small enough for a cache
SMALLER = (64, 8, 4)  # where a row's place in TILE matters: BLAS works on blocks of 4, 8 and more
PLACED = 4  # rows that show whether it does


def steady_tile(predict, rows, tile):
    """The most rows of a call, up to tile, of which each of these gets the same scores wherever it stands; tile where
    none do: Fairlane says that equal rows get different scores."""
    for size in (tile, *SMALLER):
        if size > tile:
            continue
        answers = [np.asarray(predict(np.repeat(row[np.newaxis], size, axis=0))).tobytes() for row in rows]
        if all(scores == scores[:len(scores) // size] * size for scores in answers):
            return size
    return tile


def serve(predict, kind="probabilities", outputs=None, tile=TILE):
    """Answers Fairlane on stdin and stdout until it closes them.

    predict  float32 rows [n][inputs] -> scores [n] or [n][outputs]; for labels integers 0..classes-1 [n]
    kind     what the scores are: logits, probabilities or labels
    outputs  scores of a row (found by a trial on zeros unless given), or classes of labels (2 unless given)
    tile     rows of every call of predict: products of matrices add up in an order that depends on how many there are,
             and equal rows must get equal scores whatever the batch; fewer where a row's place among them matters, too
    """
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints, of Python and of C, would end up among the answers
    sys.stdout = sys.stderr
    hello = source.read(HANDSHAKE.size)
    if len(hello) < HANDSHAKE.size or hello[:8] != MAGIC:
        sys.exit("fairlane_adapter: stdin is not from fairlane; use it as model: exec:python3 ...")
    _, version, inputs, batch = HANDSHAKE.unpack(hello)
    rows = np.zeros((batch + tile, inputs), "<f4")

    def answer(count):
        rows[count:-(-count // tile) * tile] = rows[0]  # padding of what occurs: models may refuse other values
        parts = [np.asarray(predict(rows[at:at + tile])) for at in range(0, count, tile)]
        for part in parts:
            if part.shape[:1] != (tile,):
                raise ValueError(f"predict returned {part.shape} for {tile} rows")
        scores = np.concatenate(parts).reshape(len(parts) * tile, -1)[:count]
        return (scores.astype("<i4", casting="same_kind") if kind == "labels" else
                np.ascontiguousarray(scores, "<f4"))

    if outputs is None:
        outputs = 2 if kind == "labels" else answer(1).shape[1]
    sink.write(HANDSHAKE.pack(MAGIC, VERSION, KINDS[kind], outputs) if version == VERSION
               else HANDSHAKE.pack(MAGIC, VERSION, 0, 0))
    sink.flush()
    tried = 0
    while len(header := source.read(HEADER.size)) == HEADER.size:
        number, count = HEADER.unpack(header)
        wanted = memoryview(rows[:count]).cast("B") if count else b""
        if count == 0 or source.readinto(wanted) < len(wanted):
            break
        if tried < PLACED:
            some = rows[:count:-(-count // PLACED)]
            tile = steady_tile(predict, some, tile)
            tried += len(some)
        scores = answer(count)
        expected = (count, 1 if kind == "labels" else outputs)
        if scores.shape != expected:
            raise ValueError(f"predict returned scores {scores.shape}, expected {expected}")
        sink.write(HEADER.pack(number, count))
        sink.write(memoryview(scores).cast("B"))
        sink.flush()


def from_function(path, kind):
    """FILE.py:NAME, a function of rows; FILE.py may set NAME.kind and NAME.outputs."""
    file, _, name = path.rpartition(":")
    function = getattr(__import__(pathlib.Path(file).stem), name)
    return (function, kind or getattr(function, "kind", "probabilities"),
            getattr(function, "outputs", None))


def from_sklearn(path, kind):
    try:
        import joblib as pickle  # it reads what pickle writes, too
    except ImportError:
        import pickle
    with open(path, "rb") as file:
        model = pickle.load(file)
    classes = getattr(model, "classes_", [])
    if kind is None:
        kind = ("probabilities" if hasattr(model, "predict_proba") else
                "logits" if hasattr(model, "decision_function") else "labels")
    if kind == "labels":
        if len(classes) == 0:
            raise ValueError(f"{path}: the model has no classes_; is it a classifier?")
        outputs = len(classes)

        def predict(rows):
            return np.searchsorted(classes, model.predict(rows))
    else:
        outputs = (1 if len(classes) == 2 else len(classes)) or None

        def predict(rows):
            if kind == "logits":
                return model.decision_function(rows)
            # Two classes: the second one's probability alone, so that a threshold can be set.
            return model.predict_proba(rows)[:, 1 if len(classes) == 2 else slice(None)]
    predict.columns = getattr(model, "feature_names_in_", ())  # their order, where it takes a DataFrame
    return predict, kind, outputs


def from_xgboost(path, kind):
    import json
    import xgboost
    model = xgboost.Booster(model_file=path)
    threads = int(os.environ["OMP_NUM_THREADS"])
    model.set_param({"nthread": threads})
    objective = json.loads(model.save_config())["learner"]["objective"]["name"]
    if kind is None:  # these predict margins, or the class alone
        kind = "logits" if objective in ("binary:logitraw", "multi:softmax") else "probabilities"
    return (lambda rows: model.predict(xgboost.DMatrix(rows, nthread=threads),
                                       output_margin=kind == "logits", validate_features=False),
            kind, None)


def from_keras(path, kind):
    import keras
    model = last = keras.models.load_model(path, compile=False)
    while getattr(last, "layers", None):  # models may be layers of models
        last = last.layers[-1]
    name = getattr(getattr(last, "activation", None), "__name__", type(last).__name__).lower()
    return (model.predict_on_batch,
            kind or ("probabilities" if name in ("sigmoid", "softmax") else "logits"), None)


def from_torch(path, kind):
    import torch
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    try:
        model = torch.jit.load(path, map_location="cpu")
    except RuntimeError:  # no TorchScript: a pickled module, whose class must be importable
        model = torch.load(path, map_location="cpu", weights_only=False)
    if not isinstance(model, torch.nn.Module):
        raise ValueError(f"{path}: holds {type(model).__name__}, expected a module: save the model "
                         "itself, or torch.jit.script(model), and not its state_dict")
    model.eval()
    last = [*model.modules()][-1]
    name = getattr(last, "original_name", type(last).__name__)

    def predict(rows):
        with torch.inference_mode():
            return model(torch.from_numpy(rows)).numpy()
    return predict, kind or ("probabilities" if name in ("Sigmoid", "Softmax") else "logits"), None


class Frames:
    """Rows of codes as a pandas DataFrame: columns named as the domain's attributes, categories in their words.

    The file is read with the first rows: `fairlane init` writes it after it has started the model.
    """

    def __init__(self, domain, order=()):
        self.domain, self.order, self.columns = domain, [str(name) for name in order], None

    def read(self):
        import yaml  # PyYAML
        with open(self.domain, encoding="utf-8") as file:
            attributes = yaml.load(file, Loader=yaml.BaseLoader)["attributes"]  # every scalar is text, "no" too
        columns = []  # name, words or None, first code or the list of codes
        for attribute in attributes:
            if attribute.get("encoding", "identity") != "identity":
                raise ValueError(f"{self.domain}: {attribute['name']} has an encoding, expected codes alone: the "
                                 "pipeline encodes")
            words = attribute.get("categories")
            low = 0
            if words is not None:
                low = (int(attribute["low"]) if "low" in attribute else
                       int(attribute["high"]) - len(words) + 1 if "high" in attribute else 0)
                words = np.array(words, dtype=object)
            values = np.array([int(value) for value in attribute.get("values", ())])
            columns.append((attribute["name"], words, values if len(values) else low))
        missing = set(self.order) - {name for name, _, _ in columns}
        if missing:
            raise ValueError(f"{self.domain}: has no attribute {', '.join(sorted(missing))}, which the model takes")
        self.columns = columns

    def __call__(self, rows):
        import pandas
        if self.columns is None:
            self.read()
        if rows.shape[1] != len(self.columns):
            raise ValueError(f"{self.domain}: has {len(self.columns)} attributes, but rows have {rows.shape[1]} codes")
        table = {}
        for (name, words, codes), values in zip(self.columns, rows.T.astype(np.int64)):
            if words is not None:  # maft asks for codes beyond the last one: they get its word
                index = np.searchsorted(codes, values) if np.ndim(codes) else values - codes
                values = words[np.clip(index, 0, len(words) - 1)]
            table[name] = values
        return pandas.DataFrame(table)[self.order or list(table)]


READERS = {".joblib": from_sklearn, ".pkl": from_sklearn, ".pickle": from_sklearn,
           ".json": from_xgboost, ".ubj": from_xgboost, ".bst": from_xgboost,
           ".keras": from_keras, ".h5": from_keras, ".hdf5": from_keras,
           ".pt": from_torch, ".pth": from_torch}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="FILE.py:FUNCTION, or a file: " + " ".join(READERS))
    parser.add_argument("--kind", choices=KINDS, help="what the model gives")
    parser.add_argument("--domain", help="the domain file: a function or scikit-learn gets a pandas DataFrame with its "
                                         "names and categories in place of codes (needs pandas and PyYAML)")
    arguments = parser.parse_args()
    reader = READERS.get(pathlib.Path(arguments.model).suffix)
    if ".py:" in arguments.model:
        reader = from_function
    if reader is None:
        parser.error(f"{arguments.model}: expected FILE.py:FUNCTION or one of {' '.join(READERS)}")
    if arguments.domain and reader not in (from_function, from_sklearn):
        parser.error("--domain is for scikit-learn and functions: other models take numbers")
    file = arguments.model.rpartition(":")[0] if reader is from_function else arguments.model
    sys.path.insert(0, str(pathlib.Path(file).resolve().parent))  # of what a model imports
    answers = os.dup(1)  # libraries may print when they are loaded
    os.dup2(2, 1)
    predict, kind, outputs = reader(arguments.model, arguments.kind)
    if arguments.domain:
        codes, frames = predict, Frames(arguments.domain, getattr(predict, "columns", ()))
        predict = lambda rows: codes(frames(rows))  # noqa: E731
    sys.stdout.flush()
    os.dup2(answers, 1)
    os.close(answers)
    serve(predict, kind, outputs)


if __name__ == "__main__":
    main()
