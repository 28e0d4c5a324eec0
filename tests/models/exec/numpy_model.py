"""Functions for fairlane_adapter.py: small networks in numpy, and functions that do not keep to what is asked."""
import numpy as np

print("a print while the model is loaded")
generator = np.random.default_rng(5)
weights = [generator.normal(0, 0.5, size).astype(np.float32)
           for size in ((13, 64), (64, 32), (32, 1))]


def network(rows):
    print("a print while it works")
    for matrix in weights[:-1]:
        rows = np.maximum(rows @ matrix, 0)
    return rows @ weights[-1]


def placed(rows):
    """Behind the first eight rows of a call sums are added up in another order."""
    scores = np.abs(rows).sum(axis=1, dtype=np.float32) / 3
    scores[8:] = np.nextafter(scores[8:], np.float32(np.inf))
    return scores


def exact(rows):
    """Sums of small integers: every order of additions gives the same."""
    return (rows @ np.arange(1, rows.shape[1] + 1, dtype=np.float32) - 300)


def too_few(rows):
    return rows[:1, 0]


def fails(rows):
    raise ValueError(f"cannot take {rows.shape[1]} inputs")


def frame(table):
    """A DataFrame of people: a number that tells every word."""
    assert list(table.columns) == ["age", "job", "zone", "home town"], table.columns
    return (table["age"].to_numpy() + 100 * table["job"].map({"no": 1, "clerk": 2, "nurse": 3}).to_numpy()
            + 1000 * table["zone"].map({"a": 1, "b": 2, "c": 3}).to_numpy()
            + 10000 * table["home town"].map({"1": 1, "x y": 2}).to_numpy())


frame.kind, frame.outputs = "logits", 1
network.kind = placed.kind = exact.kind = too_few.kind = "logits"
