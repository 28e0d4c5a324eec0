"""Columns of a DataFrame as attributes of a domain: codes, words, and the values handed back.

A value that stands for a code is always one that occurs in the column, taken from it as it is, so
that dtypes, categories and the kind of a missing value (None, NaN, NA) are the user's own.
"""
from __future__ import annotations

import dataclasses
import json
import math
from typing import Any, Hashable, Sequence

import numpy

from fairlane.errors import UsageError

MOST_WORDS = 1000       # different words of a column; more are an identifier or free text
MOST_BINS = 1000        # of a column; the program takes 4095
LARGEST_CODE = 1 << 24  # what the program takes: codes are exact in float32
LARGEST_OWN = 100000    # of a number among words that is its own code; larger ones would leave gaps


@dataclasses.dataclass(frozen=True)
class Attribute:
    """How a column is coded.

    name     in the domain file: the column's name as text
    column   the column's name
    codes    [n] ascending integers
    words    [n] what people read for a code
    values   [n] what the model gets for a code, an array of the column's dtype
    entries  keys of its line in the domain file
    """

    name: str
    column: Hashable
    codes: numpy.ndarray
    words: list[str]
    values: Any
    entries: dict[str, Any]

    def places(self, codes: numpy.ndarray) -> numpy.ndarray:
        """Numbers of codes, 0 to n - 1; of a code that may not occur, that of a neighbour."""
        return numpy.searchsorted(self.codes, codes).clip(0, len(self.codes) - 1)

    def domain_line(self, is_protected: bool) -> str:
        """Its line in the domain file."""
        entries = {"name": self.name, **self.entries}
        if is_protected:
            entries["protected"] = True
        text = ", ".join(f"{key}: {yaml(value)}" for key, value in entries.items())
        return f"  - {{{text}}}"


def yaml(value: Any) -> str:
    """A value as YAML in one line: JSON, which YAML contains."""
    return json.dumps(value, ensure_ascii=False, default=_native)


def _native(value: Any) -> Any:
    if isinstance(value, numpy.generic):
        return value.item()
    raise TypeError(f"{value!r} is a {type(value).__name__}")


def plain(value: Any) -> str:
    """A value's text in one line, without what a file in UTF-8 or a person cannot read."""
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.split())


def code_column(series: Any, name: str, bins: Any,
                distinct: int) -> tuple[Attribute, numpy.ndarray]:
    """Codes a column. Returns the attribute and the code of every row.

    bins      of a column of more than `distinct` numbers: how many, or the edges between them
    distinct  so many different numbers, or fewer, are kept as they are
    """
    import pandas

    missing = series.isna().to_numpy(dtype=bool)
    if is_numeric(series, pandas):
        numbers = series[~missing].to_numpy(dtype=numpy.float64)
        groups, form = _number_groups(numbers, name, bins, distinct)
    else:
        groups, form = _word_groups(series[~missing], name, bins, pandas)
    place = numpy.empty(len(series), dtype=numpy.int64)
    place[~missing] = groups
    if missing.any():
        place[missing] = len(form.words)
        form = _with_missing(form)
    rows = _representatives(series, place, len(form.words), form.is_binned)
    attribute = Attribute(name, series.name, numpy.asarray(form.codes, numpy.int64), form.words,
                          series.iloc[rows].array, form.entries)
    # Codes ascend, so that places do; words that are numbers may have changed the order.
    order = numpy.argsort(attribute.codes, kind="stable")
    attribute = dataclasses.replace(
        attribute, codes=attribute.codes[order], words=[form.words[i] for i in order],
        values=attribute.values.take(order))
    if "categories" in attribute.entries:
        attribute.entries["categories"] = attribute.words
    return attribute, numpy.asarray(form.codes, numpy.int64)[place]


@dataclasses.dataclass(frozen=True)
class _Form:
    """Groups of a column's values: their words and codes, and the domain file's keys for them."""

    words: list[str]
    codes: list[int]
    entries: dict[str, Any]
    is_binned: bool = False


def is_numeric(series: Any, pandas: Any) -> bool:
    """Whether a column holds numbers that are no categories: ints or floats of any kind."""
    kinds = pandas.api.types
    if isinstance(series.dtype, pandas.CategoricalDtype) or kinds.is_bool_dtype(series.dtype):
        return False
    if kinds.is_object_dtype(series.dtype):
        return kinds.infer_dtype(series, skipna=True) in ("integer", "floating",
                                                          "mixed-integer-float")
    return kinds.is_numeric_dtype(series.dtype) and not kinds.is_complex_dtype(series.dtype)


def _number_groups(numbers: numpy.ndarray, name: str, bins: Any,
                   distinct: int) -> tuple[numpy.ndarray, _Form]:
    if numpy.isinf(numbers).any():
        raise UsageError(f"column {name!r}: has infinite values, expected numbers or missing ones")
    values = numpy.unique(numbers)
    whole = bool((values == numpy.floor(values)).all())
    inner = _inner_edges(numbers, values, name, bins, distinct)
    if inner is None:
        return numpy.searchsorted(values, numbers), _few_numbers(values, whole)
    return numpy.searchsorted(inner, numbers), _bins(numbers, inner, whole)


def _inner_edges(numbers: numpy.ndarray, values: numpy.ndarray, name: str, bins: Any,
                 distinct: int) -> numpy.ndarray | None:
    """The last values of all bins but the last one; None where numbers are kept as they are."""
    if isinstance(bins, (int, numpy.integer)) and not isinstance(bins, bool):
        if not 2 <= bins <= MOST_BINS:
            raise UsageError(f"bins of {name!r}: is {bins}, expected 2 to {MOST_BINS}")
        if len(values) <= distinct:
            return None
        # The values that i/k of the rows reach, i = 1 to k - 1; equal ones are one edge.
        ranks = numpy.ceil(numpy.arange(1, bins) * len(numbers) / bins).astype(numpy.int64) - 1
        edges = numpy.unique(numpy.sort(numbers)[ranks])
    else:
        try:
            edges = numpy.asarray(bins, dtype=numpy.float64)
        except (TypeError, ValueError):
            edges = numpy.empty((0, 0))
        if edges.ndim != 1 or not 1 <= len(edges) < MOST_BINS or not (
                numpy.isfinite(edges).all() and (numpy.diff(edges) > 0).all()):
            raise UsageError(f"bins of {name!r}: is {bins!r}, expected a number of bins, or the "
                             "ascending edges between them")
    # An edge without numbers on both sides divides nothing.
    sides = numpy.searchsorted(edges, values)
    last = numpy.flatnonzero(numpy.diff(sides) > 0)
    return values[last]


def _few_numbers(values: numpy.ndarray, whole: bool) -> _Form:
    if whole and len(values) > 0 and max(abs(values[0]), abs(values[-1])) <= LARGEST_CODE:
        codes = [int(value) for value in values]
        entries = ({"low": codes[0], "high": codes[-1]}
                   if codes[-1] - codes[0] == len(codes) - 1 else {"values": codes})
        return _Form([str(code) for code in codes], codes, entries)
    words = [_text(float(value)) for value in values]
    if any(is_integer_text(word) for word in words):
        words = [f"exactly {word}" for word in words]
    if len(values) == 0:
        return _Form([], [], {})
    edges = [_below(values[0]), *(float(value) for value in values)]
    return _Form(words, list(range(len(words))), {"categories": words, "bins": edges})


def _bins(numbers: numpy.ndarray, inner: numpy.ndarray, whole: bool) -> _Form:
    first, last = float(numbers.min()), float(numbers.max())
    tops = [*(float(edge) for edge in inner), last]
    codes = list(range(len(tops)))
    edges = [first - 1 if whole else _below(first), *tops]
    if whole and max(abs(first), abs(last)) <= LARGEST_CODE:
        # The words that the program has for such bins.
        lows = [int(edge) + 1 for edge in edges[:-1]]
        words = [str(int(top)) if low == top else
                 f"{low} to {int(top)}" if low < 0 or top < 0 else f"{low}-{int(top)}"
                 for low, top in zip(lows, tops)]
        return _Form(words, codes, {"bins": [int(edge) for edge in edges]}, is_binned=True)
    lows = [first, *tops[:-1]]
    shown = _distinct_texts([first, *tops])
    words = [f"{'' if i == 0 else 'over '}{shown[low]} to {shown[top]}" if low != top else
             f"exactly {shown[top]}" for i, (low, top) in zip(codes, zip(lows, tops))]
    return _Form(words, codes, {"categories": words, "bins": edges}, is_binned=True)


def _distinct_texts(numbers: Sequence[float]) -> dict[float, str]:
    """Numbers in so many digits that different ones differ, three at least."""
    different = sorted(set(numbers))
    for digits in range(3, 18):
        texts = [_text(float(f"{number:.{digits}g}")) for number in different]
        if len(set(texts)) == len(texts):
            break
    return dict(zip(different, texts))


def _text(number: float) -> str:
    """A number without an exponent, unless it needs one."""
    return f"{number:.15g}" if number == float(f"{number:.15g}") else repr(number)


def _below(value: float) -> float:
    return float(numpy.nextafter(value, -math.inf))


def _word_groups(present: Any, name: str, bins: Any, pandas: Any) -> tuple[numpy.ndarray, _Form]:
    kinds = pandas.api.types
    is_category = isinstance(present.dtype, pandas.CategoricalDtype)
    if kinds.is_datetime64_any_dtype(present.dtype) or kinds.is_timedelta64_dtype(present.dtype) \
            or kinds.is_complex_dtype(present.dtype):
        raise UsageError(f"column {name!r}: holds {present.dtype}, expected numbers, words or "
                         f"categories; fixed={{{name!r}: VALUE}} hands one value to the model")
    if not isinstance(bins, (int, numpy.integer)):
        raise UsageError(f"bins of {name!r}: the column holds words, expected one of numbers")
    try:
        groups, values = pandas.factorize(present)
    except TypeError as error:
        raise UsageError(f"column {name!r}: holds {type(present.iloc[0]).__name__}, expected "
                         f"numbers, words or categories") from error
    if len(values) > MOST_WORDS:
        raise UsageError(f"column {name!r}: has {len(values):,} different words, expected at most "
                         f"{MOST_WORDS:,}; fixed={{{name!r}: VALUE}} hands one value to the model, "
                         "as for an identifier")
    values = list(values)
    if is_category:
        places = {value: place for place, value in enumerate(present.cat.categories)}
        order = sorted(range(len(values)), key=lambda i: places[values[i]])
    else:
        order = sorted(range(len(values)), key=lambda i: _sort_key(values[i]))
    rank = numpy.empty(len(values), numpy.int64)
    rank[order] = numpy.arange(len(values))
    return rank[groups], nominal([values[i] for i in order])


def _sort_key(value: Any) -> tuple[int, float, str]:
    if isinstance(value, (bool, int, float, numpy.number)):
        return (0, float(value), "")
    return (1, 0.0, str(value))


def is_integer_text(text: str) -> bool:
    """Whether the program would read a word as a whole number."""
    try:
        return float(text).is_integer()
    except (ValueError, OverflowError):
        return False


def _own_code(text: str) -> int | None:
    """The number that a word is, where it can be its code."""
    if not is_integer_text(text) or abs(float(text)) > LARGEST_OWN:
        return None
    number = int(float(text))
    return number if str(number) == text else None


def _word(value: Any) -> str:
    """A category as people read it. Whole numbers that are not their own codes are told apart from
    codes: words in quotes, numbers by `exactly`."""
    if isinstance(value, (int, float, numpy.number)) and not isinstance(value, (bool, numpy.bool_)):
        text = _text(float(value)) if isinstance(value, (float, numpy.floating)) else str(value)
        return f"exactly {text}" if is_integer_text(text) and _own_code(text) is None else text
    text = plain(value)
    if text == "" or (is_integer_text(text) and _own_code(text) is None):
        return f'"{text}"'
    return text


def nominal(values: Sequence[Any]) -> _Form:
    """Categories in this order, but that words that are whole numbers come first, as their own
    codes: the program takes no others for them."""
    return _nominal_words([_word(value) for value in values])


def _nominal_words(words: Sequence[str]) -> _Form:
    unique: list[str] = []
    seen: set[str] = set()
    for word in words:
        text, number = word, 2
        while text in seen:
            text, number = f"{word} ({number})", number + 1
        seen.add(text)
        unique.append(text)
    own = [_own_code(text) for text in unique]
    numbers = [code for code in own if code is not None]
    free = max(numbers, default=-1) + 1
    codes = []
    for code in own:
        if code is None:
            code, free = free, free + 1
        codes.append(code)
    entries: dict[str, Any] = {} if codes == list(range(len(codes))) else {"values": sorted(codes)}
    return _Form(unique, codes, {**entries, "categories": unique})


def _with_missing(form: _Form) -> _Form:
    """The same with a category for missing values, which have no place in an order."""
    words = [f"exactly {word}" if form.is_binned and is_integer_text(word) else word
             for word in form.words]
    return dataclasses.replace(_nominal_words([*words, "missing"]), is_binned=form.is_binned)


def _representatives(series: Any, place: numpy.ndarray, count: int,
                     is_binned: bool) -> numpy.ndarray:
    """A row for each group: of bins the one with the lower median, otherwise the first."""
    rows = numpy.zeros(count, numpy.int64)
    if not is_binned:
        groups, first = numpy.unique(place, return_index=True)
        rows[groups] = first
        return rows
    numbers = series.to_numpy(dtype=numpy.float64, na_value=numpy.nan)
    order = numpy.lexsort((numbers, place))  # by group, then by number; rows in their order
    starts = numpy.searchsorted(place[order], numpy.arange(count + 1))
    for group in range(count):
        rows[group] = order[(starts[group] + starts[group + 1] - 1) // 2]
    return rows
