"""Makes the files of this folder with the real exporters; they are committed, so that tests need none of them.

    python3 -m venv venv && venv/bin/pip install torch onnx onnxscript scikit-learn skl2onnx keras tensorflow-cpu tf2onnx
    venv/bin/python make_exported.py

All but scikit-learn's are the same network, 3 -> 4 -> 4 -> 2 with ReLU between the layers, whose parameters follow from
their index (kernel and bias below; exported_test.cpp computes them again). Those named gated are 3 -> 4 -> 4 -> 4 -> 2
with SiLU, GELU and GELU by tanh between the layers; Keras has no name for the last, and SiLU once more.
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
import tf2onnx
import torch

HERE = pathlib.Path(__file__).resolve().parent
WIDTHS = (3, 4, 4, 2)


def kernel(inputs, outputs, layer):
    index = np.arange(inputs * outputs).reshape(inputs, outputs)
    return (((index * 7 + layer) % 23 - 11) / 8).astype(np.float32)


def bias(outputs, layer):
    return (((np.arange(outputs) * 5 + layer) % 13 - 6) / 4).astype(np.float32)


LAYERS = [(kernel(i, o, k), bias(o, k)) for k, (i, o) in enumerate(zip(WIDTHS, WIDTHS[1:]))]


GATED_WIDTHS = (3, 4, 4, 4, 2)
GATED_LAYERS = [(kernel(i, o, k), bias(o, k)) for k, (i, o) in enumerate(zip(GATED_WIDTHS, GATED_WIDTHS[1:]))]


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


def make_torch_gated():
    """By the parts that operator set 17 has, with Gelu of operator set 20, and by the newer exporter."""
    gates = [torch.nn.SiLU(), torch.nn.GELU(), torch.nn.GELU(approximate="tanh")]
    modules = []
    for k, (weights, shift) in enumerate(GATED_LAYERS):
        linear = torch.nn.Linear(*weights.shape)
        linear.weight.data = torch.tensor(weights.T.copy())
        linear.bias.data = torch.tensor(shift)
        modules += [linear] + gates[k:k + 1]
    model = torch.nn.Sequential(*modules).eval()
    for opset in (17, 20):
        torch.onnx.export(model, torch.zeros(1, 3), str(HERE / f"torch_gated_{opset}.onnx"), dynamo=False,
                          input_names=["x"], dynamic_axes={"x": {0: "rows"}}, opset_version=opset)
    for opset in (18, 20):
        path = HERE / f"torch_gated_dynamo_{opset}.onnx"
        torch.onnx.export(model, (torch.zeros(2, 3),), str(path), input_names=["x"],
                          dynamic_shapes=({0: torch.export.Dim("rows")},), opset_version=opset,
                          external_data=False)
        exported = onnx.load(path)
        for node in exported.graph.node:  # where in this program each is from
            del node.metadata_props[:]
        del exported.graph.metadata_props[:]
        onnx.save(exported, path)


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


def make_keras_gated():
    gates = ["silu", "gelu", "swish", "softmax"]
    model = keras.Sequential([keras.Input((3,))] + [
        keras.layers.Dense(weights.shape[1], gate) for (weights, _), gate in zip(GATED_LAYERS, gates)])
    for layer, parameters in zip(model.layers, GATED_LAYERS):
        layer.set_weights(parameters)
    model.save(HERE / "keras_gated.keras")
    deflate(HERE / "keras_gated.keras")
    model.save(HERE / "keras_gated.h5")


def make_tf2onnx_gated():
    """tf2onnx knows no Erfc, of which TensorFlow 2.21 makes GELU: this is how earlier ones made it."""
    gates = [tf.nn.silu, lambda x: 0.5 * x * (1 + tf.math.erf(x / 1.4142135623730951)),
             lambda x: tf.nn.gelu(x, approximate=True), tf.nn.softmax]

    @tf.function(input_signature=[tf.TensorSpec((None, 3), tf.float32)])
    def network(values):
        for (weights, shift), gate in zip(GATED_LAYERS, gates):
            values = gate(tf.matmul(values, weights) + shift)
        return values

    tf2onnx.convert.from_function(network, input_signature=network.input_signature,
                                  output_path=str(HERE / "tf2onnx_gated.onnx"))


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
    for make in (make_torch, make_torch_gated, make_keras, make_keras_gated, make_tf2onnx_gated,
                 make_tensorflow, make_scikit_learn):
        make()
