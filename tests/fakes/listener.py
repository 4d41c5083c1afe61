"""A port of this machine that counts who connects, and answers nothing."""

import socket
import threading


class Listener:
    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(0.02)
        self._closed = False
        self.connections = 0
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        # The socket is closed after the thread has ended: its number may be that of another socket at once,
        # whose connections the thread would take.
        self._closed = True
        self._thread.join()
        self._socket.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._socket.accept()
            except TimeoutError:
                continue
            self.connections += 1
            connection.close()
