"""What the tests of the package share: its import, a table of people, rules that decide on them.

FAIRLANE_MODEL_PYTHON may name another interpreter, which has more libraries: the tests run there.
"""
import importlib.util
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"])
BINARY = os.environ["FAIRLANE_BINARY"]
OTHER = os.environ.get("FAIRLANE_MODEL_PYTHON")

if OTHER and os.path.realpath(OTHER) != os.path.realpath(sys.executable) \
        and "FAIRLANE_MODEL_PYTHON_RUNS" not in os.environ:
    os.environ["FAIRLANE_MODEL_PYTHON_RUNS"] = "1"
    os.execv(OTHER, [OTHER, "-B", *sys.argv])

sys.path.insert(0, str(ROOT / "python"))

for needed in ("numpy", "pandas"):
    if importlib.util.find_spec(needed) is None:
        print(needed, "is not installed for", sys.executable)
        sys.exit(77)

import numpy  # noqa: E402
import pandas  # noqa: E402


def lacks(*modules):
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"not installed for {sys.executable}: {', '.join(missing)}")


def people(count=1500, seed=7):
    """A table with words, numbers, truth values, categories and missing values."""
    draw = numpy.random.default_rng(seed)
    table = pandas.DataFrame({
        "sex": draw.choice(["Female", "Male"], count),
        "age": draw.integers(17, 91, count),
        "income": draw.normal(30000, 9000, count).round(2),
        "children": draw.integers(0, 5, count).astype(float),
        "job": pandas.Categorical(draw.choice(["nurse", 'the "boss", really', "clerk"], count),
                                  categories=["nurse", "clerk", 'the "boss", really', "nobody's"]),
        "district": draw.choice(["1", "2", "007"], count),
        "owner": draw.random(count) < 0.5,
        "rate": draw.choice([0.5, 1.0, 2.5], count),
        "points": pandas.array(draw.integers(0, 3, count), dtype="Int64"),
    }, index=numpy.arange(count)[::-1] * 3)  # the index means nothing
    for column, share in (("income", 0.1), ("children", 0.1), ("job", 0.05), ("points", 0.1)):
        table.loc[draw.random(count) < share, column] = None
    return table


def merit(table):
    """A float for each person, from every column; men are preferred."""
    return (table["income"].fillna(25000).to_numpy() / 1000 - 30 + table["age"].to_numpy() / 8
            + 2.5 * (table["sex"] == "Male").to_numpy() - table["children"].fillna(1.5).to_numpy()
            + (table["job"] == 'the "boss", really').to_numpy() * 3.0
            - (table["district"] == "007").to_numpy() * 1.0 + table["owner"].to_numpy() * 1.0
            - table["rate"].to_numpy() + table["points"].fillna(1).astype(float).to_numpy() - 6)


def decide(table):
    return numpy.where(merit(table) > 0, "granted", "refused")
