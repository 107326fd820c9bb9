"""A relay in front of a server, to cut connections as a network does: nothing arrives any more, and nothing says so."""
import socket
import threading


class Relay:
    def __init__(self, port):
        self.to = port
        self.open = threading.Event()  # cleared: bytes are kept back, and no connection is accepted
        self.open.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        self.open.clear()

    def restore(self):
        self.open.set()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                self.open.wait()
                far = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                return
            self.sockets += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source, sink):
        try:
            while data := source.recv(65536):
                self.open.wait()
                sink.sendall(data)
        except OSError:
            pass
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.open.set()
        for one in (self.listener, *self.sockets):
            one.close()
