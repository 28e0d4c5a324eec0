"""The model's constants, read from constants.json."""
import json
import pathlib
import types

FILE = pathlib.Path(__file__).with_name("constants.json")


class Constants:
    """chips {name: namespace}, and the groups multiprocessor, host and memory as namespaces of numbers."""

    def __init__(self, path=FILE):
        self.data = json.loads(path.read_text(encoding="utf-8"))
        self.chips = {name: numbers(group) for name, group in self.data["chips"].items()}
        self.multiprocessor = numbers(self.data["multiprocessor"])
        self.host = numbers(self.data["host"])
        self.memory = numbers(self.data["memory"])
        self.weakest = self.data["weakest"]


def numbers(group):
    return types.SimpleNamespace(**{name: entry["value"] for name, entry in group.items()})
