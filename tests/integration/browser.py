"""Chromium without a window, driven over a pair of pipes: no port, no other program."""
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium")
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "f": 70}
CONTROL = 2


class Browser:
    def __init__(self, width=1200, height=800, headers=None):
        self.profile = tempfile.mkdtemp(prefix="chromium.")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def fixed_descriptors():
            # Its own end of both pipes is always 3 and 4; the copies keep either from being overwritten.
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank"],
            preexec_fn=fixed_descriptors, close_fds=False, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.last, self.left, self.session = 0, b"", None
        self.loaded = set()  # the loads that have ended
        self.troubles = []  # exceptions of scripts, and what a policy has stopped
        page = next(x for x in self.call("Target.getTargets")["targetInfos"] if x["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(domain + ".enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)
        if headers:
            self.call("Network.setExtraHTTPHeaders", headers=headers)
        self.resize(width, height)

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        while True:
            answer = self.receive()
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.left:
            data = os.read(self.read_end, 1 << 20)
            if not data:
                raise EOFError("the browser is gone")
            self.left += data
        message, self.left = self.left.split(b"\0", 1)
        message = json.loads(message)
        if message.get("method") == "Page.lifecycleEvent" and message["params"]["name"] == "load":
            self.loaded.add(message["params"]["loaderId"])
        elif message.get("method") == "Runtime.exceptionThrown":
            self.troubles.append(message["params"]["exceptionDetails"])
        elif message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            self.troubles.append(message["params"]["entry"]["text"])
        return message

    def open(self, url):
        # A change of the part behind "#" alone would load nothing.
        for address in "about:blank", url:
            load = self.call("Page.navigate", url=address)["loaderId"]
            while load not in self.loaded:
                self.receive()

    def js(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer_dark(self, dark):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def click(self, x, y, count=1):
        for type in "mouseMoved", "mousePressed", "mouseReleased":
            self.call("Input.dispatchMouseEvent", type=type, x=x, y=y, button="left", clickCount=count)

    def hover(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def key(self, key, modifiers=0):
        for type in "keyDown", "keyUp":
            self.call("Input.dispatchKeyEvent", type=type, key=key, code=key, modifiers=modifiers,
                      windowsVirtualKeyCode=KEYS.get(key, 0))

    def type(self, text):
        self.call("Input.insertText", text=text)

    def picture(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, EOFError, RuntimeError):
            pass
        deadline = time.monotonic() + 10
        while self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.read_end)
        os.close(self.write_end)
        shutil.rmtree(self.profile, ignore_errors=True)
