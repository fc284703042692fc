"""A visit of the console: one browser window that keeps what must never happen in it."""

from urllib.parse import urlsplit

from playwright.sync_api import Page

PATIENCE_MS = 180_000


class Visit:
    """A page, and what it asked of whom, said to its console or threw."""

    def __init__(self, page: Page, address, names=()):
        self.page, self.address = page, address
        self.hosts = {address, *names}
        self.faults = []
        self.seen = []
        self.refusals = set()
        page.on("console", lambda said: self._judge(said.type in ("error", "warning"), f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: self._judge(True, f"threw {error}"))
        page.on("dialog", self._dismissed)
        page.on("popup", lambda other: self._judge(True, f"opened {other.url}"))
        page.on("download", lambda download: self._judge(True, f"downloaded {download.url}"))
        page.on("websocket", lambda socket: self._judge(True, f"a socket to {socket.url}"))
        page.context.on("request", self._asked)

    def _judge(self, is_fault, text):
        if is_fault:
            self.faults.append(text)

    def _dismissed(self, dialog):
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _asked(self, request):
        self.seen.append(request.url)
        self._judge(urlsplit(request.url).netloc not in self.hosts, f"asked {request.url}")

    def to(self, path="/", status=200):
        """Open a path as from the address bar; the browser's own word on a refusal that was expected is no fault."""
        if status >= 400:
            self.refusals.add(f"status of {status} ")
        answer = self.page.goto(f"http://{self.address}{path}")
        assert answer.status == status
        return self.page

    def unexpected(self):
        """Return what went wrong, but for refusals that a test asked for."""
        return [fault for fault in self.faults if not any(refusal in fault for refusal in self.refusals)]

    def reads(self, selector="main"):
        """Return what there is to read, as one line."""
        return " ".join(self.page.locator(selector).inner_text().split())
