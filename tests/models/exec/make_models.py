"""Models of one library for fairlane_adapter.py, with what the library itself says: make_models.py LIBRARY FOLDER.

Writes FOLDER/models with a line "FILE KIND OUTPUTS" for each model, FOLDER/rows with float32 rows, and FILE.scores with
float32 scores [rows][OUTPUTS], labels too. Exit status 77: the library is not there.
"""
import pathlib
import sys

import numpy as np

ROWS, INPUTS = 3000, 4
library, folder = sys.argv[1], pathlib.Path(sys.argv[2])
random = np.random.default_rng(5)
rows = random.integers(1, 7, size=(ROWS, INPUTS)).astype(np.float32)  # 0 does not occur
drift = rows @ [1, -2, 0.5, 1] + random.normal(size=ROWS)
two, three = (drift > 1).astype(int), np.digitize(drift, [-2, 3])
rows.tofile(folder / "rows")
lines = []


def case(file, kind, scores):
    scores = np.asarray(scores, np.float32).reshape(ROWS, -1)
    scores.tofile(folder / f"{file}.scores")
    lines.append(f"{file} {kind} {2 if kind == 'labels' else scores.shape[1]}\n")


def sklearn():
    import pickle
    import joblib
    from sklearn.ensemble import VotingClassifier
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    # It refuses values that did not occur.
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(rows, two)
    joblib.dump(model, folder / "one-hot.joblib")
    case("one-hot.joblib", "probabilities", model.predict_proba(rows)[:, 1])
    model = LogisticRegression().fit(rows, three)
    (folder / "three.pickle").write_bytes(pickle.dumps(model))
    case("three.pickle", "probabilities", model.predict_proba(rows))
    model = RidgeClassifier().fit(rows, two)
    joblib.dump(model, folder / "margin.pkl", compress=3)
    case("margin.pkl", "logits", model.decision_function(rows))
    names = np.array(["no", "yes"])
    model = VotingClassifier([("a", LogisticRegression()), ("b", RidgeClassifier())]).fit(rows, names[two])
    joblib.dump(model, folder / "vote.joblib")
    case("vote.joblib", "labels", model.predict(rows) == "yes")


def xgboost():
    import xgboost as xgb

    def train(file, label, kind, objective, **more):
        data = xgb.DMatrix(rows, label=label, feature_names=["a", "b", "c", "d"])
        model = xgb.train({"max_depth": 3, "nthread": 1, "objective": objective, **more}, data, 5)
        model.save_model(folder / file)
        case(file, kind, model.predict(data, output_margin=kind == "logits"))
    train("logistic.ubj", two, "probabilities", "binary:logistic")
    train("linear.json", two, "probabilities", "binary:logistic", booster="gblinear")
    train("margin.json", two, "logits", "binary:logitraw")
    train("share.ubj", three, "probabilities", "multi:softprob", num_class=3)
    train("class.json", three, "logits", "multi:softmax", num_class=3)


def keras():
    import keras
    from keras.layers import Dense
    keras.utils.set_random_seed(5)

    def save(file, kind, layers):
        model = keras.Sequential([keras.Input((INPUTS,)), *layers])
        model.save(folder / file)
        case(file, kind, model.predict(rows, verbose=0))
    save("sigmoid.keras", "probabilities", [Dense(4, "tanh"), Dense(1, "sigmoid")])
    save("softmax.h5", "probabilities", [Dense(3), keras.layers.Softmax()])
    save("nested.keras", "probabilities", [keras.Sequential([Dense(1), keras.layers.Activation("sigmoid")])])
    save("margin.keras", "logits", [Dense(1)])


def torch():
    import torch
    from torch import nn
    torch.manual_seed(5)
    (folder / "own_module.py").write_text(
        "from torch import nn\n"
        "class Own(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer, self.drop = nn.Linear(4, 1), nn.Dropout(0.5)\n"
        "    def forward(self, x):\n"
        "        return self.drop(self.layer(x)).squeeze(1)\n")
    sys.path.insert(0, str(folder))
    from own_module import Own

    def save(file, kind, model, how):
        model.eval()
        with torch.no_grad():
            scores = model(torch.from_numpy(rows))
        model.train()
        how(model, folder / file)
        case(file, kind, scores.numpy())
    save("own.pt", "logits", Own(), torch.save)
    script = lambda model, path: torch.jit.script(model).save(str(path))
    save("script.pt", "logits", Own(), script)
    save("sigmoid.pth", "probabilities", nn.Sequential(nn.Linear(4, 1), nn.Sigmoid()), torch.save)
    save("softmax.pt", "probabilities", nn.Sequential(nn.Linear(4, 3), nn.Softmax(1)), script)
    torch.save(Own().state_dict(), folder / "state.pt")


make = {"sklearn": sklearn, "xgboost": xgboost, "keras": keras, "torch": torch}[library]
try:
    make()
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)
(folder / "models").write_text("".join(lines))
