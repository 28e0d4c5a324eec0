#!/usr/bin/env python3
"""Trains a scikit-learn model on a table and saves it for fairlane_adapter.py.

  python3 example_sklearn.py ../../configs/demo/census.csv census.joblib
  then, in a configuration: model: exec:python3 fairlane_adapter.py census.joblib
"""
import sys

import joblib
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

table = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1, dtype=np.float32)
# Columns in the domain's order, the label last: a model gets rows as numbers, without names.
model = HistGradientBoostingClassifier(random_state=0).fit(table[:, :-1], table[:, -1].astype(int))
joblib.dump(model, sys.argv[2])
print(f"accuracy on its own table: {model.score(table[:, :-1], table[:, -1]):.3f}")
