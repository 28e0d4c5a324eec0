"""Makes the files of this folder with the real exporters; they are committed, so that tests need none of them.

    python3 -m venv venv && venv/bin/pip install torch onnx onnxscript scikit-learn skl2onnx keras tensorflow-cpu tf2onnx
    venv/bin/python make_exported.py

All but scikit-learn's are the same network, 3 -> 4 -> 4 -> 2 with ReLU between the layers, whose parameters follow from
their index (kernel and bias below; exported_test.cpp computes them again).
"""
import os
import pathlib
import zipfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import onnx
import skl2onnx
import sklearn.neural_network
import sklearn.pipeline
import sklearn.preprocessing
import tensorflow as tf
import torch

HERE = pathlib.Path(__file__).resolve().parent
WIDTHS = (3, 4, 4, 2)


def kernel(inputs, outputs, layer):
    index = np.arange(inputs * outputs).reshape(inputs, outputs)
    return (((index * 7 + layer) % 23 - 11) / 8).astype(np.float32)


def bias(outputs, layer):
    return (((np.arange(outputs) * 5 + layer) % 13 - 6) / 4).astype(np.float32)


LAYERS = [(kernel(i, o, k), bias(o, k)) for k, (i, o) in enumerate(zip(WIDTHS, WIDTHS[1:]))]


def make_torch():
    modules = []
    for weights, shift in LAYERS:
        linear = torch.nn.Linear(*weights.shape)
        linear.weight.data = torch.tensor(weights.T.copy())
        linear.bias.data = torch.tensor(shift)
        modules += [linear, torch.nn.ReLU()]
    model = torch.nn.Sequential(*modules[:-1]).eval()
    torch.onnx.export(model, torch.zeros(1, 3), str(HERE / "torch.onnx"), dynamo=False,
                      input_names=["x"], dynamic_axes={"x": {0: "rows"}})


def deflate(path):
    """Packs an archive's entries, which Keras only stores: HDF5 is mostly zeros."""
    with zipfile.ZipFile(path) as archive:
        entries = [(entry, archive.read(entry)) for entry in archive.namelist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, contents in entries:
            archive.writestr(name, contents)


def make_keras():
    model = keras.Sequential([keras.Input((3,))] + [
        keras.layers.Dense(weights.shape[1], "relu" if k + 1 < len(LAYERS) else "softmax")
        for k, (weights, _) in enumerate(LAYERS)])
    for layer, parameters in zip(model.layers, LAYERS):
        layer.set_weights(parameters)
    model.save(HERE / "keras.keras")
    deflate(HERE / "keras.keras")
    model(np.zeros((1, 3), np.float32))
    model.export(HERE / "keras.onnx", format="onnx", verbose=False)


def make_tensorflow():
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        values = v1.placeholder(tf.float32, (None, 3))
        for k, (weights, shift) in enumerate(LAYERS):
            with tf.name_scope("linear"):
                values = tf.matmul(values, v1.Variable(weights, name="kernel"))
                values += v1.Variable(shift, name="bias")
            if k + 1 < len(LAYERS):
                values = tf.nn.relu(values)
        loss = tf.reduce_mean(tf.square(tf.nn.softmax(values)))
        v1.train.AdamOptimizer().minimize(loss)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            v1.train.Saver().save(session, str(HERE / "tensorflow"), write_meta_graph=False,
                                  write_state=False)


def make_scikit_learn():
    """A pipeline; its scores for five rows stand in skl2onnx.csv."""
    rows = np.random.default_rng(0).integers(0, 5, (80, 3)).astype(np.float32)
    labels = rows[:, 0] + rows[:, 1] > 4
    network = sklearn.neural_network.MLPClassifier((4,), max_iter=50, random_state=0)
    model = sklearn.pipeline.make_pipeline(sklearn.preprocessing.StandardScaler(), network)
    model.fit(rows, labels.astype(int))
    onnx.save(skl2onnx.to_onnx(model, rows[:1]), HERE / "skl2onnx.onnx")
    scores = model.predict_proba(rows[:5])[:, 1]
    np.savetxt(HERE / "skl2onnx.csv", np.column_stack([rows[:5], scores]), "%.9g", ",",
               header="a,b,c,score", comments="")


if __name__ == "__main__":
    for make in (make_torch, make_keras, make_tensorflow, make_scikit_learn):
        make()
