"""Writes the models and predictions in this folder, from synthetic data.

    pip install xgboost lightgbm scikit-learn && python3 tests/models/trees/generate.py

Each NAME.json or NAME.txt is a model as its library writes it; NAME.golden.json holds rows of integers with what the
library itself says about them: labels, and scores of 9 or 17 digits (margins, or probabilities of forests). Rows hit
categories and thresholds and what lies just beside and beyond them. The library that trains draws other trees in another
version: run this to add a case, not to check one.
"""
import json
import pathlib
import sys

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from sklearn.ensemble import (ExtraTreesClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier,
                              RandomForestClassifier)
from sklearn.tree import DecisionTreeClassifier

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "models" / "adapters"))
from export_sklearn import export  # noqa: E402

LOW = np.array([-5, 0, 1, 0])
HIGH = np.array([60, 11, 4, 1])
GOLDEN_ROWS = 60
UBJSON = ("xgboost_softprob", "xgboost_onehot", "xgboost_partition", "xgboost_dart")  # written in this form, too
random = np.random.default_rng(5)


def draw(count, margin=0):
    return random.integers(LOW - margin, HIGH + margin + 1, size=(count, 4)).astype(np.float32)


X = draw(1500)
DRIFT = 0.1 * X[:, 0] + np.isin(X[:, 1], [2, 3, 4, 9]) * 3 - X[:, 2] * X[:, 3] + random.normal(size=len(X))
TWO = (DRIFT > np.median(DRIFT)).astype(int)
THREE = np.digitize(DRIFT, np.quantile(DRIFT, [0.3, 0.7]))
ROWS = np.concatenate([draw(GOLDEN_ROWS // 2), draw(GOLDEN_ROWS // 2, margin=2)])


def golden(name, labels, scores, double):
    digits = 17 if double else 9
    shown = [[float(f"{s:.{digits}g}") for s in np.atleast_1d(row)] for row in scores]
    rows = ",\n".join(json.dumps({"row": [int(x) for x in r], "label": int(label), "scores": s})
                      for r, label, s in zip(ROWS, labels, shown))
    (HERE / f"{name}.golden.json").write_text(f"[\n{rows}\n]\n")


def xgboost_case(name, y, types=None, **parameters):
    parameters = {"max_depth": 3, "eta": 0.5, "seed": 1, "nthread": 1, **parameters}
    make = lambda x, label=None: xgb.DMatrix(x, label=label, feature_names=["age", "job", "degree", "sex"],
                                             feature_types=types, enable_categorical=types is not None)
    model = xgb.train(parameters, make(X, y), 4)
    text = json.loads(model.save_raw("json"))
    for tree in trees_of(text):  # statistics that no prediction needs
        for key in ("base_weights", "loss_changes", "sum_hessian", "parents"):
            tree.pop(key, None)
    (HERE / f"{name}.json").write_text(json.dumps(text, separators=(",", ":")) + "\n")
    if name in UBJSON:
        model.save_model(HERE / f"{name}.ubj")
    margins = model.predict(make(ROWS), output_margin=True)
    answers = model.predict(make(ROWS))
    if answers.ndim == 2:
        answers = answers.argmax(axis=1)
    elif parameters["objective"] == "binary:logistic":
        answers = answers > 0.5
    elif parameters["objective"] == "binary:logitraw":
        answers = answers > 0.0
    golden(name, answers, margins, double=False)


def trees_of(text):
    booster = text["learner"]["gradient_booster"]
    return (booster["gbtree"] if "gbtree" in booster else booster)["model"]["trees"]


def lightgbm_case(name, y, categories="auto", rows=X, **parameters):
    parameters = {"num_leaves": 7, "min_data_in_leaf": 20, "learning_rate": 0.5, "verbose": -1, "seed": 1,
                  "num_threads": 1, "min_data_per_group": 10, "cat_smooth": 1, **parameters}
    data = lgb.Dataset(rows, label=y, feature_name=["age", "job", "degree", "sex"], categorical_feature=categories,
                       params=parameters)
    model = lgb.train(parameters, data, 4)
    text = model.model_to_string()
    (HERE / f"{name}.txt").write_text(text[:text.index("end of trees")] + "end of trees\n")
    answers = model.predict(ROWS)
    raw = model.predict(ROWS, raw_score=True)
    if parameters.get("boosting") == "rf":  # raw scores are sums there, and probabilities come from their mean
        raw = raw / model.num_trees()
    golden(name, answers.argmax(axis=1) if answers.ndim == 2 else answers > 0.5, raw, double=True)


def sklearn_case(name, model, y):
    model.fit(X, y)
    export(model, HERE / f"{name}.json")
    scores = model.decision_function(ROWS) if hasattr(model, "decision_function") else model.predict_proba(ROWS)
    golden(name, model.predict(ROWS), scores, double=True)


def main():
    categories = ["q", "c", "c", "q"]
    xgboost_case("xgboost_logistic", TWO, objective="binary:logistic")
    xgboost_case("xgboost_logitraw", TWO, objective="binary:logitraw")
    xgboost_case("xgboost_softprob", THREE, objective="multi:softprob", num_class=3, max_depth=2)
    xgboost_case("xgboost_softmax", THREE, objective="multi:softmax", num_class=3, max_depth=2, base_score=0.5)
    xgboost_case("xgboost_dart", TWO, objective="binary:logistic", booster="dart", rate_drop=0.5)
    xgboost_case("xgboost_forest", TWO, objective="binary:logistic", num_parallel_tree=3, subsample=0.5)
    xgboost_case("xgboost_partition", TWO, types=categories, objective="binary:logistic", max_cat_to_onehot=1)
    xgboost_case("xgboost_onehot", TWO, types=categories, objective="binary:logistic", max_cat_to_onehot=99)
    lightgbm_case("lightgbm_binary", TWO, objective="binary", sigmoid=2.0)
    lightgbm_case("lightgbm_multiclass", THREE, objective="multiclass", num_class=3)
    lightgbm_case("lightgbm_ova", THREE, objective="multiclassova", num_class=3)
    lightgbm_case("lightgbm_categories", TWO, categories=["job", "degree"], objective="binary")
    lightgbm_case("lightgbm_zero", TWO, rows=np.where(X == 0, np.nan, X), objective="binary", zero_as_missing=True)
    lightgbm_case("lightgbm_forest", TWO, objective="binary", boosting="rf", bagging_freq=1, bagging_fraction=0.5)
    sklearn_case("sklearn_tree", DecisionTreeClassifier(max_depth=4, random_state=1), TWO)
    sklearn_case("sklearn_forest", RandomForestClassifier(7, max_depth=4, random_state=1), TWO)
    sklearn_case("sklearn_extra", ExtraTreesClassifier(4, max_depth=4, random_state=1), THREE)
    sklearn_case("sklearn_boosting", GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=1), TWO)
    sklearn_case("sklearn_boosting3", GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=1), THREE)
    sklearn_case("sklearn_hist", HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=7, random_state=1), TWO)
    sklearn_case("sklearn_hist3", HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=7, random_state=1), THREE)


if __name__ == "__main__":
    main()
