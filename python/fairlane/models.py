"""What can be called as a classifier: estimators, networks, boosters and functions of a DataFrame.

Each becomes a function from a DataFrame to what the protocol sends: float32 scores, or labels. The
program decides on scores in float32; they are moved by the last bit where that would decide
otherwise than the model does, so that its labels are the model's own.
"""
from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Hashable, Iterable, Sequence

import numpy

from fairlane.errors import ModelError, UsageError

KINDS = ("logits", "probabilities", "labels")
NETWORK = "network"  # no activation that makes probabilities: logits, unless they look otherwise
ROWS = 2048    # of every call: sums depend on how many rows there are, and equal ones must be equal
FEWER = (64, 8, 4)  # where a row's place in ROWS matters: BLAS works on blocks of 4, 8 and more
PLACED = 4     # rows that show whether it does
MOST_CLASSES = 1000
MOST_SAID = 300  # characters of a model's own message
TRIED = 20000  # rows that a model is tried on before the program starts


@dataclasses.dataclass(frozen=True)
class Classifier:
    """A model as the program sees it.

    kind     logits, probabilities or labels
    outputs  scores of a row, or classes of labels
    classes  the user's names of the classes 0, 1, ...
    answer   a DataFrame of n rows -> float32 scores [n][outputs], or int32 labels [n]
    """

    kind: str
    outputs: int
    classes: list[Any]
    answer: Callable[[Any], numpy.ndarray]
    threshold: float

    def labels(self, scores: numpy.ndarray) -> numpy.ndarray:
        """Classes of an answer, as the program decides them."""
        if self.kind == "labels":
            return scores.astype(numpy.int64)
        if self.outputs > 1:
            return scores.argmax(axis=1)
        return (scores[:, 0] > _cut(self.kind, self.threshold)).astype(numpy.int64)


def classifier(model: Any, sample: Any, *, kind: str | None = None,
               classes: Sequence[Any] | None = None, known: Sequence[Any] | None = None,
               threshold: float = 0.5) -> Classifier:
    """Finds out how a model is asked, by trying it on rows.

    sample   a DataFrame, or what else the model takes
    kind     what it gives, where that is not to be found out
    classes  its classes in order, where the model has no classes_
    known    the classes of the table's labels, where there are any
    """
    if kind is not None and kind not in KINDS:
        raise UsageError(f"kind: is {kind!r}, expected one of {', '.join(KINDS)}")
    sources = _sources(model, kind)
    if classes is None:
        classes = getattr(model, "classes_", None)
    if classes is not None:
        if isinstance(classes, list) and classes and isinstance(classes[0], numpy.ndarray):
            raise UsageError("the model has several outputs, expected a classifier of one")
        if not isinstance(classes, Iterable) or isinstance(classes, str):
            raise UsageError(f"classes: is {classes!r}, expected at least two, in order")
        classes = list(classes)
        if len(classes) < 2 or len(set(classes)) != len(classes):
            raise UsageError(f"classes: is {classes!r}, expected at least two different ones")
    own = None
    if len(sources) > 1 and threshold == 0.5 and classes is not None:
        own = _labels(_tried(sources[-1].call, sample), classes)
    for source in sources[:-1]:
        try:
            raw = _tried(source.call, sample)
            found = _classifier(source, raw, source.kind, classes, known, threshold)
            # Of an estimator the decision is what `predict` says; scores that decide otherwise are
            # not what it decides by.
            if own is None or (found.labels(found.answer_of(raw)) == own).all():
                return _asked(source, found, sample)
        except (ModelError, UsageError):
            if own is None:
                raise
    last = sources[-1]
    found = _classifier(last, _tried(last.call, sample), kind or last.kind, classes, known,
                        threshold, is_sure=kind is not None)
    return _asked(last, found, sample)


@dataclasses.dataclass(frozen=True)
class _Found(Classifier):
    """With what turns the model's own answer into the protocol's; `answer` is that of _asked()."""

    answer_of: Callable[[Any], numpy.ndarray] = None


@dataclasses.dataclass(frozen=True)
class _Source:
    """A way to ask: the function, what it gives (None: to be seen; NETWORK), what it is called."""

    call: Callable[[Any], Any]
    kind: str | None
    name: str


def _sources(model: Any, kind: str | None) -> list[_Source]:
    """Ways to ask a model, the most telling one first."""
    if _is(model, "torch", "Module"):
        return [_Source(_torch(model), kind or _last_layer(model), "the module")]
    if _is(model, "keras", "Model") or _is(model, "tensorflow", "Model") \
            or _is(model, "tf_keras", "Model"):
        return [_Source(lambda table: model.predict_on_batch(_matrix(table)),
                        kind or _last_activation(model), "predict_on_batch")]
    if _is(model, "xgboost", "Booster"):
        return [_booster(model)]
    if _is(model, "lightgbm", "Booster"):
        return [_Source(model.predict, kind, "predict")]
    sources = []
    if callable(getattr(model, "predict_proba", None)):
        sources.append(_Source(model.predict_proba, "probabilities", "predict_proba"))
    elif callable(getattr(model, "decision_function", None)):
        sources.append(_Source(model.decision_function, "logits", "decision_function"))
    if callable(getattr(model, "predict", None)):
        sources.append(_Source(model.predict, "labels", "predict"))
    if kind is not None and sources:
        wanted = [source for source in sources if source.kind == kind]
        if not wanted:
            raise UsageError(f"kind: is {kind!r}, but {type(model).__name__} has no method for it")
        return wanted
    if sources:
        return sources
    if callable(model):
        return [_Source(model, kind, getattr(model, "__name__", "the function"))]
    raise UsageError(f"model: is a {type(model).__name__}, expected an estimator with predict, a "
                     "network of Keras or PyTorch, a booster, or a function of a DataFrame")


def _is(model: Any, package: str, name: str) -> bool:
    """Whether a model is of a library's class, without importing the library."""
    return any(kind.__name__ == name and kind.__module__.split(".")[0] == package
               for kind in type(model).__mro__)


def _tried(call: Callable[[Any], Any], sample: Any) -> Any:
    return _guarded(lambda: in_tiles(call, sample, ROWS))


def _guarded(action: Callable[[], Any]) -> Any:
    try:
        return action()
    except (ModelError, UsageError):
        raise
    except Exception as error:
        raise ModelError(f"the model raised {type(error).__name__} on rows of the table: "
                         f"{' '.join(str(error).split())[:MOST_SAID]}") from error


def _asked(source: _Source, found: _Found, sample: Any) -> Classifier:
    """What was found out of a source, with the answers of calls of it."""
    rows = _steady_rows(source.call, sample)
    return dataclasses.replace(
        found, answer=lambda table: found.answer_of(in_tiles(source.call, table, rows)))


def _steady_rows(call: Callable[[Any], Any], sample: Any) -> int:
    """The most rows of a call of which each of some gets one answer wherever it stands; ROWS where
    none do: the program says that the model answers equal rows differently."""
    some = range(0, len(sample), max(1, len(sample) // PLACED))
    for rows in (ROWS, *FEWER):
        answers = _guarded(lambda: [
            _answer(call, _picked(sample, numpy.full(rows, place)), rows) for place in some])
        if all(numpy.array_equal(answer, numpy.broadcast_to(answer[:1], answer.shape),
                                 equal_nan=answer.dtype.kind == "f") for answer in answers):
            return rows
    return ROWS


def _picked(table: Any, places: numpy.ndarray) -> Any:
    return table.iloc[places].reset_index(drop=True) if hasattr(table, "iloc") else table[places]


def _answer(call: Callable[[Any], Any], tile: Any, rows: int) -> numpy.ndarray:
    given = call(tile)
    answer = given.to_numpy() if hasattr(given, "to_numpy") else numpy.asarray(given)
    if answer.shape[:1] != (rows,):
        raise ModelError(f"the model gave an array of shape {answer.shape} for {rows} rows, "
                         "expected an answer for each")
    return answer


def in_tiles(call: Callable[[Any], Any], table: Any, rows: int) -> numpy.ndarray:
    """Calls a model on so many rows at a time, the last ones filled up by repeats that are
    dropped."""
    parts = []
    for start in range(0, len(table), rows):
        tile = table[start:start + rows]
        count = len(tile)
        if count < rows:
            tile = _picked(tile, numpy.concatenate([numpy.arange(count),
                                                    numpy.zeros(rows - count, int)]))
        elif hasattr(tile, "iloc") and start > 0:
            tile = tile.reset_index(drop=True)
        parts.append(_answer(call, tile, rows)[:count])
    return numpy.concatenate(parts)


def _classifier(source: _Source, raw: numpy.ndarray, kind: str | None,
                classes: list[Any] | None, known: Sequence[Any] | None,
                threshold: float, is_sure: bool = False) -> _Found:
    if raw.ndim == 2 and raw.shape[1] == 1:
        raw = raw[:, 0]
    if raw.ndim not in (1, 2):
        raise UsageError(f"{source.name} gives arrays of shape {raw.shape}, expected [rows] or "
                         "[rows][classes]")
    if kind is None:
        kind = _guess(source.name, raw)
    elif kind == NETWORK:
        kind = _logits_of(source.name, raw)
    if kind == "labels":
        return _of_labels(source, raw, classes, known, threshold, is_sure)
    if raw.dtype.kind not in "fiub":
        raise UsageError(f"{source.name} gives {raw.dtype}, expected numbers for {kind}; labels "
                         "need kind='labels'")
    width = 1 if raw.ndim == 1 else raw.shape[1]
    count = max(width, 2)
    if classes is None:
        classes = list(known) if known is not None and len(known) == count else list(range(count))
    if len(classes) != count:
        raise UsageError(f"{source.name} gives {width} {'score' if width == 1 else 'scores'} of a "
                         f"row, but there are {len(classes)} classes")
    outputs = 1 if count == 2 and kind == "probabilities" else width
    if outputs > 1 and threshold != 0.5:
        raise UsageError(f"threshold: is {threshold}, expected none: the greatest of several "
                         "scores decides")
    second = width == 2 and outputs == 1

    def answer_of(given: numpy.ndarray) -> numpy.ndarray:
        scores = numpy.asarray(given, numpy.float64).reshape(len(given), -1)
        if scores.shape[1] != width:
            raise ModelError(f"{source.name} gave {scores.shape[1]} scores of a row, expected "
                             f"{width}")
        if kind == "probabilities" and ((scores < 0) | (scores > 1)).any():
            raise ModelError(f"{source.name} gave a probability outside 0 to 1; scores of another "
                             "kind need kind='logits'")
        if outputs == 1:
            one = scores[:, 1] if second else scores[:, 0]
            above = (one > scores[:, 0] if second and threshold == 0.5 else
                     one > _cut64(kind, threshold))
            return _on_its_side(one, above, _cut(kind, threshold))
        return _with_its_winner(scores)

    answer_of(raw)
    return _Found(kind, outputs, classes, None, threshold, answer_of)


def _guess(name: str, raw: numpy.ndarray) -> str:
    """What a function gives: words, integers and truth values are labels, numbers from 0 to 1 are
    probabilities."""
    if raw.dtype.kind != "f":
        if raw.ndim != 1:
            raise UsageError(f"{name} gives {raw.dtype} of shape {raw.shape}, expected a label for "
                             "each row, or scores that are floats")
        return "labels"
    finite = raw[numpy.isfinite(raw)]
    if len(finite) > 0 and 0 <= finite.min() and finite.max() <= 1:
        return "probabilities"
    raise UsageError(f"{name} gives numbers outside 0 to 1, so that they are no probabilities: "
                     "give kind='logits' where 1 is decided above 0 (or by the greatest), or "
                     "kind='labels' where they are classes; a regression model is none of these")


def _logits_of(name: str, raw: numpy.ndarray) -> str:
    if raw.dtype.kind == "f" and ((raw >= 0) & (raw <= 1)).all():
        raise UsageError(f"{name}: its last layer is neither a sigmoid nor a softmax, but all that "
                         "it gives lies in 0 to 1: give kind='probabilities' or kind='logits'")
    return "logits"


def _labels(raw: numpy.ndarray, classes: list[Any] | None) -> numpy.ndarray | None:
    if classes is None:
        return None
    places = {_scalar(value): place for place, value in enumerate(classes)}
    return numpy.array([places.get(_scalar(value), -1) for value in raw.reshape(-1)])


def _scalar(value: Any) -> Any:
    return value.item() if isinstance(value, numpy.generic) else value


def _of_labels(source: _Source, raw: numpy.ndarray, classes: list[Any] | None,
               known: Sequence[Any] | None, threshold: float, is_sure: bool) -> _Found:
    if threshold != 0.5:
        raise UsageError(f"threshold: is {threshold}, but {source.name} gives labels")
    if raw.ndim != 1:
        raise UsageError(f"{source.name} gives arrays of shape {raw.shape}, expected a label for "
                         "each row")
    for value in raw if raw.dtype.kind == "O" else ():
        if not isinstance(value, Hashable):
            raise UsageError(f"{source.name} gives a {type(value).__name__} for a row, expected a "
                             "label, a probability, or scores of all classes")
    if classes is None:
        different = {_scalar(value) for value in raw} | {_scalar(value) for value in known or ()}
        if raw.dtype.kind == "f" and known is None and not is_sure:
            raise UsageError(f"{source.name} gives {raw.dtype} and the model has no classes_: is "
                             "it a classifier? Give a function of a DataFrame that gives labels")
        if len(different) > MOST_CLASSES:
            raise UsageError(f"{source.name} gives {len(different):,} different labels, expected "
                             f"at most {MOST_CLASSES:,} classes")
        classes = sorted(different, key=lambda value: (isinstance(value, str), value)
                         if isinstance(value, (str, int, float, bool)) else (True, str(value)))
    if len(classes) < 2:
        raise UsageError(f"{source.name} gives {classes[0]!r} for every row: give classes=[...], "
                         "all that it may give")
    places = {_scalar(value): place for place, value in enumerate(classes)}

    def answer_of(given: numpy.ndarray) -> numpy.ndarray:
        given = given.reshape(-1)
        labels = numpy.empty(len(given), numpy.int32)
        different, where = _unique(given)
        for number, value in enumerate(different):
            place = places.get(_scalar(value))
            if place is None:
                raise ModelError(f"{source.name} gave the label {_scalar(value)!r}, expected one "
                                 f"of {', '.join(map(repr, map(_scalar, classes)))}; "
                                 "classes=[...] names all")
            labels[where == number] = place
        return labels

    answer_of(raw)
    return _Found("labels", len(classes), list(classes), None, threshold, answer_of)


def _unique(values: numpy.ndarray) -> tuple[list[Any], numpy.ndarray]:
    if values.dtype.kind != "O":
        different, where = numpy.unique(values, return_inverse=True)
        return list(different), where.reshape(-1)
    places: dict[Any, int] = {}
    where = numpy.array([places.setdefault(value, len(places)) for value in values], int)
    return list(places), where


def _cut64(kind: str, threshold: float) -> float:
    if kind == "probabilities":
        return threshold
    return 0.0 if threshold == 0.5 else math.log(threshold / (1 - threshold))


def _cut(kind: str, threshold: float) -> numpy.float32:
    """Above which score the program decides 1."""
    return numpy.float32(_cut64(kind, threshold))


def _on_its_side(scores: numpy.ndarray, above: numpy.ndarray,
                 cut: numpy.float32) -> numpy.ndarray:
    """float32 scores [n][1] that lie above the program's cut where the model decides 1."""
    rounded = scores.astype(numpy.float32)
    next_above = numpy.nextafter(cut, numpy.float32(numpy.inf))
    rounded = numpy.where(above & (rounded <= cut), next_above, rounded)
    rounded = numpy.where(~above & (rounded > cut), cut, rounded)
    return numpy.ascontiguousarray(rounded.reshape(-1, 1), "<f4")


def _with_its_winner(scores: numpy.ndarray) -> numpy.ndarray:
    """float32 scores [n][k] whose greatest, the first of equal ones, is the model's."""
    rounded = numpy.ascontiguousarray(scores, "<f4")
    known = numpy.isfinite(scores).all(axis=1)
    wrong = numpy.flatnonzero(known & (scores.argmax(axis=1) != rounded.argmax(axis=1)))
    for row in wrong:
        winner = scores[row].argmax()
        limit = rounded[row, winner]
        lower = numpy.nextafter(limit, numpy.float32(-numpy.inf))
        rounded[row, :winner] = numpy.minimum(rounded[row, :winner], lower)
    return rounded


def _matrix(table: Any) -> numpy.ndarray:
    """float32 rows of a table of numbers."""
    if not hasattr(table, "iloc"):
        return numpy.ascontiguousarray(table, numpy.float32)
    for name, kind in table.dtypes.items():
        if getattr(kind, "kind", "O") not in "fiub":
            raise UsageError(f"column {name!r}: holds {kind}, but a network takes numbers; give a "
                             "function of a DataFrame that prepares them and asks the network")
    return table.to_numpy(dtype=numpy.float32)


def _torch(model: Any) -> Callable[[Any], numpy.ndarray]:
    import torch

    parameter = next(iter(model.parameters()), torch.zeros(0))

    def call(table: Any) -> numpy.ndarray:
        trains = model.training
        model.eval()
        try:
            with torch.inference_mode():
                rows = torch.from_numpy(_matrix(table)).to(parameter.device, parameter.dtype)
                return model(rows).float().cpu().numpy()
        finally:
            model.train(trains)
    return call


def _last_layer(model: Any) -> str:
    last = [*model.modules()][-1]
    name = getattr(last, "original_name", type(last).__name__)
    return "probabilities" if name in ("Sigmoid", "Softmax") else NETWORK


def _last_activation(model: Any) -> str:
    last = model
    while getattr(last, "layers", None):  # models may be layers of models
        last = last.layers[-1]
    name = getattr(getattr(last, "activation", None), "__name__", type(last).__name__).lower()
    return "probabilities" if name in ("sigmoid", "softmax") else NETWORK


def _booster(model: Any) -> _Source:
    import json

    import xgboost

    objective = json.loads(model.save_config())["learner"]["objective"]["name"]
    margins = objective in ("binary:logitraw", "multi:softmax")

    def call(table: Any) -> numpy.ndarray:
        rows = xgboost.DMatrix(table, enable_categorical=True)
        return model.predict(rows, output_margin=margins)
    return _Source(call, "logits" if margins else "probabilities", "predict")
