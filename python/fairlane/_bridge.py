"""What fairlane starts as an exec: model: it hands all bytes on to the process that has the model.

That process listens on the Unix socket named by FAIRLANE_BRIDGE and speaks the protocol; nothing is
interpreted here. Run by itself, without site-packages: python3 -I -S _bridge.py
"""
import os
import socket
import sys
import threading

BYTES = 1 << 20  # moved at once, at most


def main():
    path = os.environ.get("FAIRLANE_BRIDGE")
    if not path:
        sys.exit("this model lives in a Python process, which is gone: prepare it again by "
                 "fairlane.prepare or fairlane.audit")
    model = socket.socket(socket.AF_UNIX)
    try:
        model.connect(path)
    except OSError as error:
        sys.exit(f"the Python process of the model does not answer at {path}: {error.strerror}")

    def give():
        try:
            while data := os.read(0, BYTES):
                model.sendall(data)
            model.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the other direction sees its end, too

    threading.Thread(target=give, daemon=True).start()
    try:
        while data := model.recv(BYTES):
            view = memoryview(data)
            while view:
                view = view[os.write(1, view):]
    except OSError:
        pass
    sys.stdout.flush()
    os._exit(0)  # the thread may wait for input


main()
