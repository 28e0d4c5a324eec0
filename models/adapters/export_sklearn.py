"""Writes a classifier of scikit-learn as trees that Fairlane reads: the format "fairlane-trees".

    python3 export_sklearn.py model.joblib model.json         # a model saved by joblib or pickle; loading one runs code
    from export_sklearn import export; export(model, "model.json")

Classifiers: DecisionTree, ExtraTree, RandomForest, ExtraTrees, GradientBoosting, HistGradientBoosting. Inputs are the
columns of the table that it was trained on, in that order; label k is the k-th of `classes_`.

The format is a JSON object:

    format     "fairlane-trees"
    version    1
    library    what trained it, for people
    features   names of the inputs, in order; may be left out
    inputs     how many there are
    scores     "logits" or "probabilities"
    base       [sums] numbers with which the sums of a row begin; one sum, or one for each class
    leaf       "array": a leaf adds one number to each sum; "number": it adds one to a single sum
    divisor    by which the sums are divided in the end
    cut        with one sum: the label is 1 above it; with several the label is the greatest sum's, the first of equals
    trees      array of objects, whose numbers are added in this order, in double precision:
        sum        the sum that the tree adds to, for "number" where there are several sums
        feature, threshold, left, right
                   [nodes] a row goes left when input[feature] <= threshold, compared as double; a child is the index of
                   a node, or -1 - k for leaf k; node 0 is the root (a tree without nodes is leaf 0 alone)
        leaves     [leaves] numbers, or arrays of [sums] numbers
"""
import json
import sys

import numpy as np

# The greatest double below 0: a margin of 0 and above is label 1.
BELOW_ZERO = -5e-324


def _tree(feature, threshold, left, right, is_leaf, leaf_values):
    """One tree of the format from arrays over all nodes, leaves included."""
    number = {}  # node -> its index in the file
    nodes, leaves, leaf_index = [], [], {}
    waiting = [0]
    while waiting:
        node = waiting.pop()
        if is_leaf[node]:
            value = leaf_values[node]
            key = tuple(value) if isinstance(value, list) else value
            if key not in leaf_index:  # equal leaves are written once
                leaf_index[key] = len(leaves)
                leaves.append(value)
            number[node] = -1 - leaf_index[key]
        else:
            number[node] = len(nodes)
            nodes.append(node)
            waiting += [int(right[node]), int(left[node])]
    return {
        "feature": [int(feature[n]) for n in nodes],
        "threshold": [float(threshold[n]) for n in nodes],
        "left": [number[int(left[n])] for n in nodes],
        "right": [number[int(right[n])] for n in nodes],
        "leaves": leaves,
    }


def _sklearn_tree(tree, leaf_values):
    left = tree.children_left
    return _tree(tree.feature, tree.threshold, left, tree.children_right, left == -1, leaf_values)


def _probability_tree(estimator):
    values = estimator.tree_.value[:, 0, :]
    sums = values.sum(axis=1, keepdims=True)
    if not np.allclose(sums, 1.0):  # before version 1.3 the leaves hold counts
        sums[sums == 0.0] = 1.0
        values = values / sums
    return _sklearn_tree(estimator.tree_, values.tolist())


def _forest(estimators, classes):
    trees = [_probability_tree(e) for e in estimators]
    return {"scores": "probabilities", "base": [0.0] * classes, "leaf": "array", "divisor": len(trees), "cut": 0.0,
            "trees": trees}


def _gradient_boosting(model):
    start = model._raw_predict_init(np.zeros((2, model.n_features_in_), dtype=np.float32))
    if model.init is not None and model.init != "zero":
        raise ValueError("GradientBoosting with init=ESTIMATOR: expected init=None or 'zero'")
    trees = []
    for stage in model.estimators_:
        for k, estimator in enumerate(stage):
            values = model.learning_rate * estimator.tree_.value[:, 0, 0]
            trees.append(dict(_sklearn_tree(estimator.tree_, values.tolist()), sum=k))
    return {"scores": "logits", "base": start[0].tolist(), "leaf": "number", "divisor": 1,
            "cut": BELOW_ZERO, "trees": trees}


def _hist_gradient_boosting(model):
    trees = []
    for stage in model._predictors:
        for k, predictor in enumerate(stage):
            nodes = predictor.nodes
            if nodes["is_categorical"].any():
                raise ValueError("HistGradientBoosting with categorical_features: expected numeric features only")
            trees.append(dict(_tree(nodes["feature_idx"], nodes["num_threshold"], nodes["left"], nodes["right"],
                                    nodes["is_leaf"] != 0, nodes["value"].tolist()), sum=k))
    return {"scores": "logits", "base": np.ravel(model._baseline_prediction).tolist(), "leaf": "number",
            "divisor": 1, "cut": 0.0, "trees": trees}


def convert(model):
    """The object of the format for a fitted classifier."""
    import sklearn
    kind = type(model).__name__
    if kind in ("DecisionTreeClassifier", "ExtraTreeClassifier"):
        body = _forest([model], len(model.classes_))
    elif kind in ("RandomForestClassifier", "ExtraTreesClassifier"):
        body = _forest(model.estimators_, len(model.classes_))
    elif kind == "GradientBoostingClassifier":
        body = _gradient_boosting(model)
    elif kind == "HistGradientBoostingClassifier":
        body = _hist_gradient_boosting(model)
    else:
        raise ValueError(f"{kind}: expected a DecisionTree, ExtraTree, RandomForest, ExtraTrees, GradientBoosting or "
                         "HistGradientBoosting classifier; other models can be tested as programs")
    if getattr(model, "n_outputs_", 1) != 1:
        raise ValueError(f"{kind} with {model.n_outputs_} outputs: expected one label")
    head = {"format": "fairlane-trees", "version": 1, "library": f"scikit-learn {sklearn.__version__} {kind}",
            "inputs": int(model.n_features_in_)}
    if hasattr(model, "feature_names_in_"):
        head["features"] = [str(name) for name in model.feature_names_in_]
    return head | body


def export(model, path):
    """Writes a fitted classifier to a file."""
    text = json.dumps(convert(model), allow_nan=False, separators=(",", ":"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: export_sklearn.py MODEL.joblib MODEL.json")
    import joblib
    try:
        export(joblib.load(sys.argv[1]), sys.argv[2])
    except ValueError as error:
        sys.exit(f"{sys.argv[1]}: {error}")


if __name__ == "__main__":
    main()
