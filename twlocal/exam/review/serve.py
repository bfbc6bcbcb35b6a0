"""The server of a review: on this machine only, for its own pages only.

It listens on loopback. Another site that a browser has open could still send it requests: one that comes under another
name (DNS rebinding) is refused by its Host header, and a form that did not come from a page of ours by its token. Each
decision is committed before the answer is sent.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import signal
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from aiohttp import web

from twlocal.errors import TwlocalError, UsageError
from twlocal.exam.ledger import Ledger
from twlocal.exam.review import pages
from twlocal.exam.review.decided import KEEP, WITHDRAW, Noted, Overtaken
from twlocal.exam.review.desk import SHOWN, Desk, Entry, state
from twlocal.exam.review.pages import Around, View, Visit
from twlocal.exam.review.sight import Seen, Sight, Unseen
from twlocal.html import Text, t

LOOPBACK = "127.0.0.1"
_NAMES = ("127.0.0.1", "localhost", "[::1]")
_HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",  # a page's own policy cannot say this
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_LONGEST = 500  # characters of a reason

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Review:
    """The pages over one ledger. `by` is whose decisions they are, `now` the time as ISO 8601 text in UTC."""

    def __init__(self, ledger: Ledger, *, by: str, now: Callable[[], str], lang: str, sight: Sight) -> None:
        self._desk, self._by, self._now, self._lang, self._sight = Desk(ledger), by, now, lang, sight
        self._token = secrets.token_urlsafe(32)
        self._desk.entries()  # takes seconds for a quarter of a million: before anybody waits for a page

    def app(self) -> web.Application:
        """The application, without a place to listen."""
        app = web.Application(middlewares=[self._guard], client_max_size=64 * 1024)
        app.router.add_get("/", self._list)
        app.router.add_get("/item/{id}", self._item)
        app.router.add_get(r"/picture/{document:[0-9]{1,18}}/{page:[1-9][0-9]{0,3}}.png", self._picture)
        app.router.add_post("/decide", self._decide)
        app.router.add_post("/undo", self._undo)
        return app

    # -- who may ask --------------------------------------------------------------------------------------------

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            self._admit(request)
            if request.method == "POST":
                await self._admit_form(request)
            response = await handler(request)
        except web.HTTPException as error:
            response = error
        except TwlocalError as error:  # the database is locked or damaged: say so, and stay
            response = web.Response(status=503, text=f"{error.message}\n")
        for name, value in _HEADERS.items():
            if name not in response.headers:
                response.headers[name] = value
        if isinstance(response, web.HTTPException):
            raise response
        return response

    def _admit(self, request: web.Request) -> None:
        name, _, port = request.host.rpartition(":")
        socket = request.transport.get_extra_info("sockname") if request.transport else None
        if name not in _NAMES or socket is None or port != str(socket[1]):
            raise web.HTTPForbidden(text="This page answers to 127.0.0.1 only.\n")

    async def _admit_form(self, request: web.Request) -> None:
        """Refuses what did not come from a page of this process."""
        origin, site = request.headers.get("Origin", "null"), request.headers.get("Sec-Fetch-Site", "same-origin")
        # "null" is what our own forms say, whose pages ask for no referrer.
        if origin not in ("null", f"http://{request.host}") or site not in ("same-origin", "none"):
            raise web.HTTPForbidden(text="This form came from another site.\n")
        form = await request.post()
        token = form.get("token", "")
        if not isinstance(token, str) or not hmac.compare_digest(token.encode(), self._token.encode()):
            raise web.HTTPForbidden(
                text="This page is of another start of the review: go back, reload it, and decide again.\n"
                "這一頁是先前啟動時開的：請回上一頁、重新整理，再決定一次。\n"
            )

    # -- pages --------------------------------------------------------------------------------------------------

    async def _list(self, request: web.Request) -> web.Response:
        view = _view(request.query)
        rows = self._desk.chosen(view.show, view.subject)
        page = _number(request.query.get("page", "")) or 1
        text = pages.listing(
            rows,
            self._desk.counts(),
            self._desk.subjects(),
            self._visit(request, view),
            page=page,
            lang=self._lang,
        )
        return _html(text)

    async def _item(self, request: web.Request) -> web.Response:
        entry = self._desk.entry(request.match_info["id"])
        if entry is None:
            raise web.HTTPNotFound(text="The last build has no such item.\n")
        view = _view(request.query)
        return await self._shown(entry, self._visit(request, view))

    async def _shown(self, entry: Entry, visit: Visit, status: int = 200) -> web.Response:
        sheet = self._desk.sheet(entry)
        if sheet is None:
            raise web.HTTPNotFound(text="The build has changed: this item is no more.\n")
        seen: dict[int, Seen | Unseen] = {}
        for document in sheet.documents:
            try:
                seen[document.id] = await self._sight.outline(document)
            except Unseen as error:
                seen[document.id] = error
        text = pages.item(
            sheet,
            pages.beside(sheet, seen),
            self._around(entry, visit.view),
            state(entry, sheet.noted),
            visit,
            lang=self._lang,
        )
        return _html(text, status)

    def _around(self, entry: Entry, view: View) -> Around:
        """Where an item stands in a view, also when it is not, or no longer, among those that are shown."""
        shown = [one for one, _ in self._desk.chosen(view.show, view.subject)]
        place = self._desk.place(entry)
        left = bisect_left(shown, place, key=self._desk.place)
        right = bisect_right(shown, place, key=self._desk.place)
        before = shown[left - 1] if left else None
        after = shown[right] if right < len(shown) else None
        return Around(right if right > left else 0, len(shown), before, after)

    def _visit(self, request: web.Request, view: View) -> Visit:
        """The page after a decision says which one it was, so that it can be taken back at once."""
        number = _number(request.query.get("done", ""))
        return self._plain_visit(view, self._desk.decided.one(number) if number is not None else None)

    def _plain_visit(self, view: View, done: Noted | None = None, said: Text | None = None) -> Visit:
        entry = None if done is None else self._desk.hashed(done.content_hash)
        return Visit(self._token, self._by, view, done, entry.id if entry else "", said)

    async def _picture(self, request: web.Request) -> web.Response:
        document = self._desk.document(int(request.match_info["document"]))
        if document is None:
            raise web.HTTPNotFound(text="The build has no such document.\n")
        try:
            picture = await self._sight.picture(document, int(request.match_info["page"]))
        except Unseen as error:
            raise web.HTTPNotFound(text=f"{error.reason}: {error.detail}\n") from error
        # A document is known by its content: its picture does not change.
        kept = {"Cache-Control": "private, max-age=86400, immutable"}
        return web.Response(body=picture, content_type="image/png", headers=kept)

    # -- decisions ----------------------------------------------------------------------------------------------

    async def _decide(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        told = {name: str(form.get(name, "")) for name in ("item", "action", "reason", "seen")}
        view = _view(form)
        entry = self._desk.entry(told["item"])
        seen = _number(told["seen"])
        if entry is None or told["action"] not in (WITHDRAW, KEEP) or seen is None:
            raise web.HTTPBadRequest(text="The form is not one of this review.\n")
        reason = " ".join(told["reason"].split())[:_LONGEST]
        if told["action"] == WITHDRAW and not reason:
            said = t("撤題要寫理由：理由會隨資料公布。", "A withdrawal needs a reason: it is published with the data.")
            return await self._shown(entry, self._plain_visit(view, said=said), 400)
        after = self._around(entry, view).after
        if told["action"] == KEEP:
            reason = ""  # what was typed for a withdrawal that it did not become
        try:
            number = self._desk.decide(entry, told["action"], reason, self._by, self._now(), seen=seen)
        except Overtaken:
            said = t(
                "這一題剛才已經在別處決定了，見下方；沒有寫入任何東西。",
                "It was decided elsewhere meanwhile, see below: nothing was noted.",
            )
            return await self._shown(entry, self._plain_visit(view, said=said), 409)
        raise web.HTTPSeeOther(view.item(after, done=number))

    async def _undo(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        number, view = _number(str(form.get("decision", ""))), _view(form)
        if number is None:
            raise web.HTTPBadRequest(text="The form is not one of this review.\n")
        noted = self._desk.decided.one(number)
        entry = None if noted is None else self._desk.hashed(noted.content_hash)
        try:
            self._desk.decided.undo(number, self._now())
        except Overtaken:
            said = t("這個決定已經被別的決定取代了。", "That decision does not hold any more: another one does.")
            if entry is None:
                raise web.HTTPConflict(text=f"{said.zh}\n{said.en}\n") from None
            return await self._shown(entry, self._plain_visit(view, said=said), 409)
        raise web.HTTPSeeOther(view.item(entry))


def _view(told: Any) -> View:
    """The view that a query or a form names; a name that is none is the first."""
    show = str(told.get("show", ""))
    return View(show if show in SHOWN else "todo", str(told.get("subject", ""))[:100])


def _number(text: str) -> int | None:
    """A whole number that SQLite can hold, or None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _html(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text, content_type="text/html", charset="utf-8", status=status)


async def serve(
    ledger: Ledger,
    *,
    by: str,
    now: Callable[[], str],
    port: int,
    lang: str,
    say: Callable[[str], None],
    sight: Sight | None = None,
) -> None:
    """Serves the review until it is interrupted; `say` is told the address. Raises UsageError for a taken port."""
    sight = sight or Sight()
    runner = web.AppRunner(Review(ledger, by=by, now=now, lang=lang, sight=sight).app(), access_log=None)
    stop = asyncio.Event()
    try:
        await runner.setup()
        site = web.TCPSite(runner, LOOPBACK, port)
        try:
            await site.start()
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(
                f"cannot listen on {LOOPBACK}:{port}: {reason}", hint="--port 0 takes a free one"
            ) from error
        for name in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):  # Windows: Ctrl-C raises KeyboardInterrupt there
                asyncio.get_running_loop().add_signal_handler(name, stop.set)
        say(f"http://{LOOPBACK}:{runner.addresses[0][1]}/")
        await stop.wait()
    finally:
        sight.close()
        await runner.cleanup()
