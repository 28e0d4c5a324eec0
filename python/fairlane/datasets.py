"""Instances as PyTorch datasets, read from their shards as they are needed.

Whole batches at once are many times as fast as one row after the other:

    data = InstanceDataset(fairlane.read("results/census"))
    batches = BatchSampler(RandomSampler(data), batch_size=4096, drop_last=False)
    for inputs, labels in DataLoader(data, sampler=batches, batch_size=None): ...
"""
import numpy
import torch
from torch.utils.data import Dataset


class _Rows(Dataset):
    """Rows of all shards, by number or by an array of numbers."""

    def __init__(self, results):
        self._results = results
        self._shards = results.shards()
        self._ends = numpy.cumsum([len(shard) for shard in self._shards])

    def __len__(self):
        return int(self._ends[-1]) if len(self._ends) else 0

    def _rows(self, index):
        index = numpy.asarray(index)
        flat = numpy.where(index < 0, index + len(self), index).reshape(-1)
        if ((flat < 0) | (flat >= len(self))).any():
            raise IndexError(f"{self._results.path}: has {len(self)} instances, none of number "
                             f"{index}")
        shard = numpy.searchsorted(self._ends, flat, side="right")
        rows = numpy.empty(len(flat), self._results.dtype)
        for number in numpy.unique(shard):
            mine = shard == number
            start = self._ends[number] - len(self._shards[number])
            rows[mine] = self._shards[number][flat[mine] - start]
        return rows.reshape(index.shape)


def _tensor(codes):
    return torch.from_numpy(codes.astype(numpy.float32))


class InstanceDataset(_Rows):
    """(inputs, target) of instances: codes as float32 [attributes], and a column's number as int64.

    target  the column that is learnt, such as label, pair_label or voted_label
    """

    def __init__(self, results, target="label"):
        super().__init__(results)
        if target not in results.dtype.names:
            raise ValueError(f"{results.path}: has no column {target}, expected one of "
                             f"{', '.join(results.dtype.names)}")
        self._target = target

    def __getitem__(self, index):
        rows = self._rows(index)
        target = torch.from_numpy(numpy.asarray(rows[self._target], dtype=numpy.int64))
        return _tensor(self._results.inputs(rows)), target


class PairDataset(_Rows):
    """(inputs, inputs of the pair): two similar people whom the model treats differently, each
    float32 [attributes]; a loss that makes a model agree on both needs no labels."""

    def __getitem__(self, index):
        rows = self._rows(index)
        return _tensor(self._results.inputs(rows)), _tensor(self._results.pairs(rows))
