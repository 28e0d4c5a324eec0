"""Times fairlane.audit of a pipeline of scikit-learn: audit_pipeline.py [ROWS] (100,000).

The table is made up: nine columns with words and numbers, and men are preferred. Needs scikit-learn.
"""
import sys
import time

import numpy
import pandas
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import fairlane

draw = numpy.random.default_rng(1)
n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
X = pandas.DataFrame({
    "sex": draw.choice(["Female", "Male"], n), "race": draw.choice(list("ABCDE"), n),
    "age": draw.integers(17, 91, n), "wage": draw.normal(3000, 800, n).round(2),
    "hours": draw.integers(1, 99, n), "job": draw.choice([f"job {i}" for i in range(14)], n),
    "school": draw.choice([f"school {i}" for i in range(16)], n),
    "married": draw.choice(["no", "yes", "was"], n), "children": draw.integers(0, 6, n)})
y = X["wage"] + 300 * (X["sex"] == "Male") + 5 * X["age"] + draw.normal(0, 300, n) > 3400
words = ["sex", "race", "job", "school", "married"]
columns = make_column_transformer((OneHotEncoder(), words),
                                  (StandardScaler(), ["age", "wage", "hours", "children"]))
model = make_pipeline(columns, LogisticRegression(max_iter=500)).fit(X, y)
start = time.monotonic()
audit = fairlane.audit(model, X, y, protected=["sex", "race"])
print(f"{time.monotonic() - start:.1f} s")
print(repr(audit))
