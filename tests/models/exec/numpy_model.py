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


def exact(rows):
    """Sums of small integers: every order of additions gives the same."""
    return (rows @ np.arange(1, rows.shape[1] + 1, dtype=np.float32) - 300)


def too_few(rows):
    return rows[:1, 0]


def fails(rows):
    raise ValueError(f"cannot take {rows.shape[1]} inputs")


network.kind = exact.kind = too_few.kind = "logits"
