# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium, driven by the DevTools protocol. Notes what a page logs, throws and asks the network for."""
import base64
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.request

import websocket

KEYS = {"Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
        "ArrowDown": 40, "Tab": 9, "PageDown": 34, "PageUp": 33}


class Broken(Exception):
    pass


class Browser:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="nccl-env-report-"))
        # As root, as in CI's container, Chromium refuses to run with its sandbox; the pages are our own.
        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-sync",
             "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
             "--remote-allow-origins=*", f"--user-data-dir={self.folder}", "--remote-debugging-port=0",
             "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.port = self._port()

    def _port(self):
        file, ends = self.folder / "DevToolsActivePort", time.monotonic() + 120
        while time.monotonic() < ends and self.process.poll() is None:
            if file.exists() and "\n" in (text := file.read_text()):
                return int(text.split()[0])
            time.sleep(0.05)
        self.close()
        raise Broken("chromium did not start")

    def page(self, **how):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=120) as reply:
            return Page(json.load(reply)["webSocketDebuggerUrl"], **how)

    def show(self, file):
        page = self.page()
        page.show(file)
        return page

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Page:
    def __init__(self, address, width=1280, height=900, theme="light"):
        self.socket = websocket.create_connection(address, timeout=120, suppress_origin=True)
        self.next, self.problems, self.requests, self.loaded = 0, [], [], False
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.prefer(theme)

    def call(self, method, **parameters):
        self.next += 1
        self.socket.send(json.dumps({"id": self.next, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.next:
                if "error" in message:
                    raise Broken(f"{method}: {message['error']}")
                return message["result"]
            self._note(message)

    def _note(self, message):
        method, told = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            self.problems.append(told["exceptionDetails"].get("exception", {}).get("description", str(told)))
        elif method == "Runtime.consoleAPICalled":
            self.problems.append(f"console.{told['type']}: {[arg.get('value') for arg in told['args']]}")
        elif method == "Log.entryAdded":
            self.problems.append(told["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.problems.append(f"dialog: {told['message']}")
        elif method == "Network.requestWillBeSent" and not told["request"]["url"].startswith(("data:", "about:")):
            self.requests.append(told["request"]["url"])

    def open(self, file, fragment=""):
        # By way of another page: another fragment alone loads nothing.
        for address in ("about:blank", f"file://{file}{fragment}"):
            self.loaded = False
            self.call("Page.navigate", url=address)
            while not self.loaded:
                self._note(json.loads(self.socket.recv()))

    def show(self, file, fragment=""):
        self.open(file, fragment)
        self.settle()

    def run(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Broken(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def settle(self):
        """Two frames: what scrolling and typing set off is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def key(self, key):
        code = KEYS.get(key, ord(key.upper()[0]))
        what = {"key": key, "windowsVirtualKeyCode": code, "code": key}
        if len(key) == 1 or key == "Enter":
            what["text"] = "\r" if key == "Enter" else key
        self.call("Input.dispatchKeyEvent", type="keyDown", **what)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code, code=key)
        self.settle()

    def type(self, text):
        for letter in text:
            self.key(letter)

    def click(self, selector):
        place = self.run(f"""(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
                              return [box.x + box.width / 2, box.y + box.height / 2]; }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
        self.settle()

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.settle()

    def prefer(self, theme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        self.settle()

    def let_scripts_run(self, allowed):
        self.call("Emulation.setScriptExecutionDisabled", value=not allowed)

    def screenshot(self, file):
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])

    def close(self):
        self.socket.close()
