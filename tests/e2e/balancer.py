# SPDX-License-Identifier: Apache-2.0
"""Plays the Service of the webhook's replicas: each connection goes to the next replica that takes it. Can cut the
network to a replica, too."""
import asyncio
import collections
import threading


class Balancer(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.backends = {}  # name -> port; replaced whole, never changed in place
        self.turn = 0
        self.cut = set()  # names: no byte from or to them passes, and none is lost
        self.opened, self.open = collections.Counter(), collections.Counter()  # connections by name: ever, and now
        self.loop = asyncio.new_event_loop()
        self.listening = threading.Event()
        self.start()
        self.listening.wait()

    def run(self):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self.listening.set()
        self.loop.run_forever()

    def put(self, name, port):
        self.backends = {**self.backends, name: port}

    def remove(self, name):
        self.backends = {other: port for other, port in self.backends.items() if other != name}

    async def connect(self):
        backends = list(self.backends.items())
        self.turn += 1
        for offset in range(len(backends)):
            name, port = backends[(self.turn + offset) % len(backends)]
            try:
                return name, *await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                continue  # a replica that has just ended
        raise OSError("no replica takes connections")

    async def serve(self, reader, writer):
        try:
            name, to_reader, to_writer = await self.connect()
        except OSError:
            writer.close()
            return
        self.opened[name] += 1
        self.open[name] += 1
        await asyncio.gather(self.copy(name, reader, to_writer), self.copy(name, to_reader, writer))
        self.open[name] -= 1

    async def copy(self, name, reader, writer):
        try:
            while data := await reader.read(65536):
                while name in self.cut:
                    await asyncio.sleep(0.01)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()
