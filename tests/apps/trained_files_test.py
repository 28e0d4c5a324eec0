"""Keras and ONNX Runtime compute what a trained network's own weights say."""
import importlib.util
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

BINARY = os.environ["FAIRLANE_BINARY"]
DEMO = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"]) / "configs" / "demo"
NO_LIBTORCH = 69
TOLERANCE = 1e-5  # float32 sums in another order

try:
    import numpy
except ImportError:
    print("numpy is not installed for", sys.executable)
    sys.exit(77)


ACTIVATIONS = {
    "relu": lambda x: numpy.maximum(x, 0),
    "tanh": numpy.tanh,
    "gelu": lambda x: x * (1 + numpy.vectorize(math.erf)(x / 2 ** 0.5)) / 2,
    "sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
}


def lacks(module):
    return unittest.skipIf(importlib.util.find_spec(module) is None, f"{module} is not installed for {sys.executable}")


def probabilities(path, inputs):
    """Of the written weights, layer by layer in double precision."""
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    def tensor(name):
        begin, end = header[name]["data_offsets"]
        values = numpy.frombuffer(data[8 + size + begin:8 + size + end], "<f4")
        return values.reshape(header[name]["shape"]).astype("f8")

    values = inputs.astype("f8")
    layer = 0
    while f"layers.{layer}.weight" in header:
        values = values @ tensor(f"layers.{layer}.weight") + tensor(f"layers.{layer}.bias")
        values = ACTIVATIONS[header["__metadata__"][f"layers.{layer}.activation"]](values)
        layer += 1
    return values


class TrainedFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        rows = numpy.loadtxt(DEMO / "census.csv", delimiter=",", skiprows=1, dtype="i4")[:500]
        cls.inputs = rows[:, :-1].astype("f4")
        for activation in ("relu", "tanh", "gelu"):
            done = subprocess.run(
                [BINARY, "train", DEMO / "config.yaml", "-q", "--out", cls.folder / activation, "--set",
                 f"train={{epochs: 3, layers: [12, 6], activation: {activation}}}"], capture_output=True, text=True)
            if done.returncode == NO_LIBTORCH:
                print(done.stderr.strip())
                sys.exit(77)
            assert done.returncode == 0, done.stderr

    def expect(self, activation, found):
        expected = probabilities(self.folder / activation / "model.safetensors", self.inputs)
        self.assertGreater(expected.std(), 0.01)
        numpy.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)

    @lacks("onnxruntime")
    def test_onnx_runtime(self):
        import onnxruntime

        for activation in ("relu", "tanh", "gelu"):
            session = onnxruntime.InferenceSession(str(self.folder / activation / "model.onnx"),
                                                   providers=["CPUExecutionProvider"])
            self.assertEqual("inputs", session.get_inputs()[0].name)
            self.expect(activation, session.run(None, {"inputs": self.inputs})[0])

    @lacks("tensorflow")
    def test_keras(self):
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import keras

        for activation in ("relu", "tanh", "gelu"):
            model = keras.models.load_model(self.folder / activation / "model.h5", compile=False)
            self.expect(activation, model.predict(self.inputs, verbose=0))


if __name__ == "__main__":
    unittest.main()
