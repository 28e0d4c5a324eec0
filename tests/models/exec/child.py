"""Children for tests/models/exec/scorer_test.cpp: speaks the protocol without numpy, and breaks it as its argument says."""
import array
import os
import signal
import struct
import subprocess
import sys
import time

mode = sys.argv[1] if len(sys.argv) > 1 else "echo"
file = sys.argv[2] if len(sys.argv) > 2 else ""
source, sink = sys.stdin.buffer, sys.stdout.buffer
NEVER = 10000  # seconds


def say(data):
    sink.write(data)
    sink.flush()


def first_time():
    """Whether no child has come here before, or at the same time."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


if mode == "exits":
    sys.exit("ValueError: no such model\x1b[31m")
if mode == "hangs-at-start":
    time.sleep(NEVER)
if mode == "talks-first":
    say(b"Loading the model ...\n")
if mode == "garbage-first":
    say(bytes(range(128, 148)))
hello = source.read(20)
magic, version, inputs, batch_rows = struct.unpack("<8sIII", hello)
assert magic == b"FAIRLANE" and version == 1, hello
kind = {"labels": 2, "bad-label": 2, "infinite": 1, "improbable": 1, "kind-9": 9}.get(mode, 0)
outputs = {"labels": 4, "bad-label": 4, "wide": 300, "no-outputs": 0}.get(mode, 1)
if mode == "differs" and not first_time():
    outputs = 2
say(struct.pack("<8sIII", magic, 2 if mode == "version-2" else 1, kind, outputs))
batches = 0
while True:
    header = source.read(8)
    if len(header) < 8:
        break
    number, count = struct.unpack("<II", header)
    if count == 0:
        if mode == "says-goodbye":
            open(file, "w").close()
        break
    if mode == "streams":  # answers while it still reads
        say(header)
        for _ in range(count):
            say(source.read(4 * inputs)[:4])
        continue
    rows = array.array("f", source.read(4 * inputs * count))
    first = rows[::inputs]
    batches += 1
    if mode == "hangs" or (mode == "hangs-later" and batches == 2):
        time.sleep(NEVER)
    if mode == "hangs-deaf":  # does not care for the end of its input, or for requests to end
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, signal.SIG_IGN)
        helper = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({NEVER})"])
        with open(file + ".new", "w") as out:
            print(os.getpid(), helper.pid, file=out)
        os.rename(file + ".new", file)
        time.sleep(NEVER)
    if mode == "dies" or (mode in ("dies-once", "differs") and batches == 2 and first_time()):
        print("about to fail", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "dies-once-idle" and batches == 1 and first_time():
        say(header + first.tobytes())
        os._exit(0)
    if mode == "closes":
        os.close(1)
        time.sleep(NEVER)
    if mode == "short":
        say(header + first.tobytes()[:-4])
        time.sleep(NEVER)
    if mode == "ends-short":
        say(header + first.tobytes()[:-4])
        sys.exit(0)
    if mode == "wrong-id":
        header = struct.pack("<II", number + 1, count)
    if mode == "wrong-count":
        header = struct.pack("<II", number, count - 1)
    if mode == "talks":
        say(b"epoch 1 done\n")
    if mode == "noisy":
        sys.stderr.write("noise\n" * 400000)
    if mode == "pairs":  # wants the next batch before it answers
        second = source.read(8)
        more = array.array("f", source.read(4 * inputs * struct.unpack("<II", second)[1]))[::inputs]
        say(header + first.tobytes())
        header, first = second, more
    if mode == "nan":
        first[1] = float("nan")
    if mode == "infinite":
        first = array.array("f", [0.5] * (count - 1) + [float("inf")])
    if mode == "improbable":
        first = array.array("f", [0.5] * (count - 1) + [1.5])
    if mode == "forgets":  # rows of the first batch get other scores when they are asked again
        first = array.array("f", (-1.0 if batches == 1 and i % 3 == 0 else 1.0 for i in range(count)))
    if kind == 2:
        first = array.array("i", (int(x) % 4 for x in first))
        if mode == "bad-label":
            first[-1] = 4
    if mode == "wide":
        first = array.array("f", (x for x in first for _ in range(outputs)))
    say(header + first.tobytes())
