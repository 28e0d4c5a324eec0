"""A model that is a program: integer rules on the six codes of subjects.py.

It speaks the protocol of models/adapters/README.md. The argument says what it answers with: labels (three classes),
logits, probabilities, or nan (logits, some of them undefined).
"""
import struct
import sys

KINDS = {"logits": (0, 1), "nan": (0, 1), "probabilities": (1, 1), "labels": (2, 3)}  # number, scores of a row


def points(row):
    a, b, c, d, e, f = row
    return a + 2 * b - 3 * c + d + (4 if f >= 3 and b > 3 else 0) - (2 if e and d < 0 else 0)


def answer(kind, row):
    score = points(row)
    if kind == "labels":
        return struct.pack("<i", 0 if score < 4 else 1 if score < 12 else 2)
    if kind == "probabilities":
        high = min(max((score + 16) / 64, 0.0), 1.0)  # sixty-fourths: exact in float32
        return struct.pack("<f", high)
    is_undefined = kind == "nan" and row[0] > 6 and row[5] == 2
    return struct.pack("<f", float("nan") if is_undefined else (score - 8) / 8)


def main():
    kind = sys.argv[1]
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    _, _, inputs, _ = struct.unpack("<8sIII", source.read(20))
    sink.write(struct.pack("<8sIII", b"FAIRLANE", 1, *KINDS[kind]))
    sink.flush()
    while True:
        header = source.read(8)
        count = struct.unpack("<II", header)[1] if len(header) == 8 else 0
        if count == 0:
            return
        rows = struct.unpack(f"<{count * inputs}f", source.read(4 * count * inputs))
        sink.write(header + b"".join(answer(kind, rows[i:i + inputs]) for i in range(0, len(rows), inputs)))
        sink.flush()


if __name__ == "__main__":
    main()
