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
import os
import pickle
import sys
import warnings


class ExportError(ValueError):
    """A model that cannot be written, in one line; code is the exit code of the command."""

    def __init__(self, code, what):
        super().__init__(" ".join(what.split()))
        self.code = code


USAGE, BAD_DATA, NO_INPUT, UNAVAILABLE, BAD_OUTPUT = 64, 65, 66, 69, 73  # as fairlane's

try:
    import numpy as np
except ImportError as missing:
    if __name__ != "__main__":
        raise
    print(f"export_sklearn: error: {missing}; install numpy and scikit-learn for {sys.executable}", file=sys.stderr)
    sys.exit(UNAVAILABLE)

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
        raise ExportError(BAD_DATA, "GradientBoosting with init=ESTIMATOR: expected init=None or 'zero'")
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
                raise ExportError(BAD_DATA, "HistGradientBoosting with categorical_features: expected numeric features "
                                            "only")
            trees.append(dict(_tree(nodes["feature_idx"], nodes["num_threshold"], nodes["left"], nodes["right"],
                                    nodes["is_leaf"] != 0, nodes["value"].tolist()), sum=k))
    return {"scores": "logits", "base": np.ravel(model._baseline_prediction).tolist(), "leaf": "number",
            "divisor": 1, "cut": 0.0, "trees": trees}


def _forest_of_one(model):
    return _forest([model], len(model.classes_))


def _forest_of_all(model):
    return _forest(model.estimators_, len(model.classes_))


WRITERS = {
    "DecisionTreeClassifier": _forest_of_one, "ExtraTreeClassifier": _forest_of_one,
    "RandomForestClassifier": _forest_of_all, "ExtraTreesClassifier": _forest_of_all,
    "GradientBoostingClassifier": _gradient_boosting, "HistGradientBoostingClassifier": _hist_gradient_boosting,
}
HINTS = {
    "Pipeline": "; its steps before the trees change the inputs: test it as a program (fairlane_adapter.py)",
    "XGBClassifier": "; save it with model.save_model('NAME.json'), which Fairlane reads",
    "LGBMClassifier": "; save it with model.booster_.save_model('NAME.txt'), which Fairlane reads",
}


def convert(model):
    """The object of the format for a fitted classifier. Raises ExportError, a ValueError."""
    kind = type(model).__name__
    if kind not in WRITERS:
        raise ExportError(BAD_DATA, f"{kind}: expected one of {', '.join(WRITERS)}"
                          + HINTS.get(kind, "; other models can be tested as programs (fairlane_adapter.py)"))
    if not hasattr(model, "classes_"):
        raise ExportError(BAD_DATA, f"{kind}: is not fitted, expected a trained classifier")
    import sklearn
    if getattr(model, "n_outputs_", 1) != 1:
        raise ExportError(BAD_DATA, f"{kind} with {model.n_outputs_} outputs: expected one label")
    try:
        body = WRITERS[kind](model)
    except (AttributeError, KeyError, TypeError) as error:  # parts that other versions name differently
        raise ExportError(UNAVAILABLE, f"{kind} as scikit-learn {sklearn.__version__} keeps it is not understood "
                          f"({type(error).__name__}: {error}); train and export it with one version, 1.0 to 1.9") from error
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


def load(path):
    """What joblib or pickle saved. Raises ExportError."""
    if not os.path.isfile(path):
        raise ExportError(NO_INPUT, "is no file, expected a model that joblib or pickle saved")
    try:
        import joblib as reader  # it reads what pickle writes, too
    except ImportError:
        reader = pickle
    try:
        with open(path, "rb") as file:
            return reader.load(file)
    except OSError as error:
        raise ExportError(NO_INPUT, f"cannot be read: {error.strerror or error}") from error
    except ImportError as error:
        raise ExportError(UNAVAILABLE, f"needs a library that {sys.executable} does not have: {error}") from error
    except Exception as error:  # unpickling may raise anything, and runs the file's code anyway
        raise ExportError(BAD_DATA, f"cannot be loaded ({type(error).__name__}: {error}); expected a model that joblib "
                          "or pickle saved with this version of scikit-learn") from error


def run(arguments):
    if len(arguments) != 2:
        raise ExportError(USAGE, "usage: export_sklearn.py MODEL.joblib MODEL.json")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load(arguments[0])
    for other in {" ".join(str(warning.message).split()) for warning in caught}:
        print(f"export_sklearn: warning: {arguments[0]}: {other}", file=sys.stderr)
    try:
        export(model, arguments[1])
    except OSError as error:
        raise ExportError(BAD_OUTPUT, f"{arguments[1]}: cannot be written: {error.strerror or error}") from error


def main():
    try:
        run(sys.argv[1:])
    except ExportError as error:
        known = len(sys.argv) == 3 and error.code != BAD_OUTPUT
        print(f"export_sklearn: error: {sys.argv[1] + ': ' if known else ''}{error}", file=sys.stderr)
        sys.exit(error.code)
    except ImportError as error:
        print(f"export_sklearn: error: {error}; install it for {sys.executable}", file=sys.stderr)
        sys.exit(UNAVAILABLE)


if __name__ == "__main__":
    main()
