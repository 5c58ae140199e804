# SPDX-License-Identifier: Apache-2.0
"""What a Service does for the webhook's replicas: each connection to the next one that takes it."""
import asyncio
import threading


class Balancer(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.backends = {}  # name -> port; replaced whole, never changed in place
        self.turn = 0
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
        ports = list(self.backends.values())
        self.turn += 1
        for offset in range(len(ports)):
            try:
                return await asyncio.open_connection("127.0.0.1", ports[(self.turn + offset) % len(ports)])
            except OSError:
                continue  # a replica that has just ended
        raise OSError("no replica takes connections")

    async def serve(self, reader, writer):
        try:
            to_reader, to_writer = await self.connect()
        except OSError:
            writer.close()
            return
        await asyncio.gather(self.copy(reader, to_writer), self.copy(to_reader, writer))

    @staticmethod
    async def copy(reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()
