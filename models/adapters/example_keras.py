#!/usr/bin/env python3
"""A script that serves a model of its own: dense layers of a Keras HDF5 file in numpy, without Keras (needs h5py).

  model: exec:python3 example_keras.py model.h5
"""
import json
import sys

import h5py
import numpy as np

from fairlane_adapter import serve

ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0, out=x), "tanh": np.tanh, "linear": lambda x: x}

layers = []
with h5py.File(sys.argv[1]) as file:
    for layer in json.loads(file.attrs["model_config"])["config"]["layers"]:
        name, activation = layer["config"]["name"], layer["config"].get("activation")
        if layer["class_name"] == "Dense":
            weights = file["model_weights"][name]
            kernel, bias = (weights[str(path, "utf-8") if isinstance(path, bytes) else path][()]
                            for path in weights.attrs["weight_names"])
            layers.append((kernel, bias, activation))


def logits(rows):
    for kernel, bias, activation in layers[:-1]:
        rows = rows @ kernel
        rows += bias
        rows = ACTIVATIONS[activation](rows)
    kernel, bias, _ = layers[-1]  # its sigmoid or softmax is left to Fairlane
    return rows @ kernel + bias


serve(logits, "logits")
