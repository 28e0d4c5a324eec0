"""Serves a model of this process to the program, in the thread that called it.

The program starts `_bridge.py` as its exec: model, which connects to a Unix socket of ours. One
loop answers on it, and reads what the program prints meanwhile: the model is called by the thread
that it belongs to, one batch after the other, and never copied or pickled.
"""
from __future__ import annotations

import os
import pathlib
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from typing import Any, Callable, Sequence

import numpy

from fairlane.errors import ModelError

HANDSHAKE = struct.Struct("<8sIII")  # magic, version, and two numbers
HEADER = struct.Struct("<II")        # id, rows
MAGIC, VERSION = b"FAIRLANE", 1
KINDS = {"logits": 0, "probabilities": 1, "labels": 2}
BYTES = 1 << 20       # read at once, at most
LONGEST_PATH = 100    # bytes; Linux takes 107 for a socket
NAP = 0.5             # seconds after which the program is looked after, whatever is said


class ModelServer:
    """A socket at which a model answers, as models/adapters/README.md describes the protocol.

    answer   float32 rows [n][inputs] -> float32 scores [n][outputs], or int32 labels [n]
    kind     logits, probabilities or labels
    outputs  scores of a row, or classes of labels
    inputs   columns of a row
    """

    def __init__(self, answer: Callable[[numpy.ndarray], numpy.ndarray], kind: str, outputs: int,
                 inputs: int):
        self.answer, self.kind, self.outputs, self.inputs = answer, kind, outputs, inputs
        self.problem: BaseException | None = None
        self.folder = tempfile.mkdtemp(prefix="fairlane-")
        if len(os.fsencode(self.folder)) > LONGEST_PATH - len("/model"):
            shutil.rmtree(self.folder)
            self.folder = tempfile.mkdtemp(prefix="fairlane-", dir="/tmp")
        self.path = str(pathlib.Path(self.folder) / "model")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.listener.setblocking(False)
        self.connections: set[_Connection] = set()

    def close(self) -> None:
        for connection in list(self.connections):
            connection.close()
        self.listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def register(self, selector: selectors.BaseSelector) -> None:
        self.selector = selector
        selector.register(self.listener, selectors.EVENT_READ, self._accept)

    def _accept(self, _events: int) -> None:
        try:
            peer, _ = self.listener.accept()
        except OSError:
            return
        if self.problem is not None:
            peer.close()  # a child that was started again gets nothing else
            return
        self.connections.add(_Connection(self, peer))

    def fail(self, problem: BaseException) -> None:
        """No child is answered any more: the program ends, and its caller raises the problem."""
        self.problem = self.problem or problem
        for connection in list(self.connections):
            connection.close()


class _Connection:
    """One child of the program: bytes that have come, and bytes that are still to be sent."""

    def __init__(self, server: ModelServer, peer: socket.socket):
        self.server, self.peer = server, peer
        self.greeted = False
        self.got = bytearray()
        self.owed = bytearray()
        peer.setblocking(False)
        server.selector.register(peer, selectors.EVENT_READ, self.handle)

    def close(self) -> None:
        if self in self.server.connections:
            self.server.connections.remove(self)
            self.server.selector.unregister(self.peer)
            self.peer.close()

    def handle(self, events: int) -> None:
        try:
            if events & selectors.EVENT_READ:
                data = self.peer.recv(BYTES)
                if not data:
                    self.close()
                    return
                self.got += data
            if events & selectors.EVENT_WRITE:
                self._send()
        except BlockingIOError:
            return
        except OSError:
            self.close()
            return
        try:
            self._read()
        except Exception as error:  # whatever the model raises
            self.server.fail(error)

    def _read(self) -> None:
        if not self.greeted:
            if len(self.got) < HANDSHAKE.size:
                return
            magic, version, inputs, _ = HANDSHAKE.unpack_from(self.got)
            del self.got[:HANDSHAKE.size]
            if magic != MAGIC or inputs != self.server.inputs:
                raise ModelError(f"the program asks for rows of {inputs} columns, expected "
                                 f"{self.server.inputs}: was the domain file changed?")
            kind, outputs = ((KINDS[self.server.kind], self.server.outputs) if version == VERSION
                             else (0, 0))
            self.greeted = True
            self._give(HANDSHAKE.pack(MAGIC, VERSION, kind, outputs))
        while len(self.got) >= HEADER.size:
            number, count = HEADER.unpack_from(self.got)
            end = HEADER.size + 4 * count * self.server.inputs
            if count == 0:
                self.close()
                return
            if len(self.got) < end:
                return
            rows = numpy.frombuffer(bytes(self.got[HEADER.size:end]), "<f4")
            del self.got[:end]
            scores = self.server.answer(rows.reshape(count, self.server.inputs))
            self._give(HEADER.pack(number, count) + scores.tobytes())

    def _give(self, data: bytes) -> None:
        self.owed += data
        try:
            self._send()
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            return
        self._watch()

    def _send(self) -> None:
        while self.owed:
            sent = self.peer.send(self.owed)
            del self.owed[:sent]
        self._watch()

    def _watch(self) -> None:
        if self in self.server.connections:
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.owed else 0)
            self.server.selector.modify(self.peer, wanted, self.handle)


class _Reader:
    """A pipe that the program writes to."""

    def __init__(self, pipe: Any, selector: selectors.BaseSelector, line: Callable[[str], None]):
        self.pipe, self.selector, self.line = pipe, selector, line
        self.data = bytearray()
        self.shown = 0
        self.is_open = True
        os.set_blocking(pipe.fileno(), False)
        selector.register(pipe, selectors.EVENT_READ, self.handle)

    def handle(self, _events: int) -> None:
        try:
            data = os.read(self.pipe.fileno(), BYTES)
        except BlockingIOError:
            return
        if not data:
            self.is_open = False
            self.selector.unregister(self.pipe)
            return
        self.data += data
        while (end := self.data.find(b"\n", self.shown)) >= 0:
            self.line(self.data[self.shown:end].decode("utf-8", "replace"))
            self.shown = end + 1


def converse(words: Sequence[str], server: ModelServer | None,
             line: Callable[[str], None]) -> tuple[int, str, str]:
    """Runs a program to its end, answering for the model meanwhile.

    line  is called with each line of its standard error
    Returns its exit code, standard output and standard error. Ctrl-C asks it to save its state and
    end; the second one kills it. Raises KeyboardInterrupt then.
    """
    environment = dict(os.environ)
    if server is not None:
        environment["FAIRLANE_BRIDGE"] = server.path
    interrupts = 0
    # A session of its own: Ctrl-C in a terminal reaches us alone, and we hand it on once.
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment, start_new_session=True)
    selector = selectors.DefaultSelector()
    try:
        output = _Reader(process.stdout, selector, lambda _: None)
        errors = _Reader(process.stderr, selector, line)
        if server is not None:
            server.register(selector)
            answer = server.answer

            def patient(rows: numpy.ndarray) -> numpy.ndarray:
                nonlocal interrupts
                while True:
                    try:
                        return answer(rows)
                    except KeyboardInterrupt:  # the batch is still owed
                        interrupts += 1
                        _interrupt(process, interrupts)
            server.answer = patient
        while output.is_open or errors.is_open or process.poll() is None:
            try:
                ready = selector.select(NAP)
                for key, events in ready:
                    key.data(events)
                if not ready and process.poll() is not None:
                    break  # what it has started may hold its pipes
            except KeyboardInterrupt:
                interrupts += 1
                _interrupt(process, interrupts)
        process.wait()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if server is not None:
            server.close()
        selector.close()
        process.stdout.close()
        process.stderr.close()
    sys.stderr.flush()
    if interrupts > 0:
        raise KeyboardInterrupt
    return (process.returncode, output.data.decode("utf-8", "replace"),
            errors.data.decode("utf-8", "replace"))


def _interrupt(process: subprocess.Popen, times: int) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT if times == 1 else signal.SIGKILL)
