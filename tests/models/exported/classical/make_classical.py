"""Makes the files of this folder with the real converters; they are committed, so that tests need none of them.

    python3 -m venv venv && venv/bin/pip install scikit-learn skl2onnx onnx onnxruntime onnxmltools xgboost lightgbm pandas
    venv/bin/python make_classical.py

Beside NAME.onnx stands NAME.csv: rows, the label that ONNX Runtime gives them and its scores. Scores of trees are the
sums before any transform (the same graph with post_transform NONE), on one thread and row by row, so that they are
added up in the order of the trees; those of linear models are probabilities, or what LinearSVC decides by.
"""
import pathlib

import lightgbm
import numpy as np
import onnx
import onnxmltools
import onnxruntime
import pandas as pd
import skl2onnx
import xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

HERE = pathlib.Path(__file__).resolve().parent
NAMES = list("abcde")
random = np.random.default_rng(0)
X = random.integers(0, 8, (400, 5)).astype(np.float32)
drift = X @ [1, -2, .5, 1, .3] + random.normal(size=400)
TWO, THREE = (drift > 2).astype(int), np.digitize(drift, [0, 4])


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def answers(model, rows):
    """Labels [n] and scores [n][classes], row by row."""
    run = session(model)
    inputs = run.get_inputs()
    labels, scores = [], []
    for row in rows:
        feed = ({inputs[0].name: row[None]} if len(inputs) == 1 else
                {one.name: row[None, NAMES.index(one.name), None] for one in inputs})
        label, score = run.run(None, feed)
        labels.append(int(label[0]))
        scores.append(list(score[0].values()) if isinstance(score, list) else np.ravel(score))
    return labels, np.array(scores, np.float32)


def save(name, model, rows):
    model.graph.doc_string = ""
    onnx.save(model, HERE / f"{name}.onnx")
    labels, scores = answers(model, rows)
    trees = [node for node in model.graph.node if node.op_type == "TreeEnsembleClassifier"]
    if trees:
        for attribute in trees[0].attribute:
            if attribute.name == "post_transform":
                attribute.s = b"NONE"
        scores = answers(model, rows)[1]
    if scores.shape[1] == 2:
        scores = scores[:, 1:]
    with open(HERE / f"{name}.csv", "w", encoding="utf-8") as file:
        file.write(",".join([*NAMES, "label", *(f"score{k}" for k in range(scores.shape[1]))]) + "\n")
        for row, label, score in zip(rows, labels, scores):
            file.write(",".join([f"{v:g}" for v in row] + [str(label)] + [f"{v:.9g}" for v in score]) + "\n")


def main():
    # Thresholds lie at halves and, for XGBoost, at integers: rows on both, and beyond.
    rows = (random.integers(-1, 17, (60, 5)) / 2).astype(np.float32)
    for name, model, labels in (
            ("logistic2", LogisticRegression(), TWO), ("logistic3", LogisticRegression(), THREE),
            ("svc2", LinearSVC(), TWO), ("tree2", DecisionTreeClassifier(max_depth=3, random_state=0), TWO),
            ("forest2", RandomForestClassifier(12, max_depth=3, random_state=0), TWO),
            ("forest3", RandomForestClassifier(8, max_depth=3, random_state=0), THREE),
            ("boosting2", GradientBoostingClassifier(n_estimators=12, max_depth=2, random_state=0), TWO),
            ("boosting3", GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0), THREE)):
        save(name, skl2onnx.to_onnx(model.fit(X, labels), X[:1]), rows)
    frame = pd.DataFrame(X, columns=NAMES)
    save("named2", skl2onnx.to_onnx(make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, TWO), frame[:1]),
         rows)
    columns = ColumnTransformer([("keep", "passthrough", ["d", "b", "a", "c", "e"])])
    forest = make_pipeline(columns, RandomForestClassifier(4, max_depth=2, random_state=0)).fit(frame, TWO)
    save("named_forest2", skl2onnx.to_onnx(forest, frame[:1]), rows)
    types = [("x", FloatTensorType([None, 5]))]
    for classes, labels in ((2, TWO), (3, THREE)):
        model = xgboost.XGBClassifier(n_estimators=6, max_depth=3, random_state=0).fit(X, labels)
        save(f"xgboost{classes}", onnxmltools.convert_xgboost(model, initial_types=types), rows)
        model = lightgbm.LGBMClassifier(n_estimators=6, max_depth=3, verbose=-1, random_state=0).fit(X, labels)
        save(f"lightgbm{classes}", onnxmltools.convert_lightgbm(model, initial_types=types), rows)


if __name__ == "__main__":
    main()
