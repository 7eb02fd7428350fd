"""Follows the code with a breakpoint in it and nothing else, stops, and asks for commands while it is stopped.

The global trace function looks at the name of each code object that is called, and only where a breakpoint is set in
code of that name at anything else. `bdb` gives every frame a local trace function while there is any breakpoint: each
line of every function then costs a call.
"""

import contextlib
import dis
import os
import signal
import sys
import threading

from swt_show import Interrupted, named

_SIGNAL = getattr(signal, "SIGRTMIN", 34) + 7
"""What breaks into a test that does not come back: hardly anybody uses it."""

_GENERATOR = 0x20 | 0x80 | 0x200
_NO_FAILURE = ("Skipped", "SkipTest", "XFailed")
_ROOM = 1000
"""Frames that commands get on top of a recursion that has used up its own."""

_getpid, _exit = os.getpid, os._exit
_settrace, _gettrace, _ident = sys.settrace, sys.gettrace, threading.get_ident
_setlimit, _getlimit = sys.setrecursionlimit, sys.getrecursionlimit
_setitimer, _TIMER = signal.setitimer, signal.ITIMER_REAL
_frames = sys._current_frames


class View(object):
    """Where it is stopped: frames with their lines, the oldest first."""

    def __init__(self, state, why, frames, above=0, at=None, error=None):
        self.state = state
        self.why = why
        self.frames = frames
        self.above = above
        """Frames of the runner above the first."""
        self.index = len(frames) - 1 if at is None else at
        self.bottom = self.index
        self.error = error
        self.listed = None
        self.returning = False

    @property
    def frame(self):
        return self.frames[self.index][0] if self.frames else None

    @property
    def line(self):
        return self.frames[self.index][1] if self.frames else 0


class Debugger(object):
    """One per process. `ask(view)` shows where it is and returns what to do next, as (mode, line)."""

    def __init__(self, places, ask, own_folders):
        self.places = places
        self._ask = ask
        self._own = tuple(folder + os.sep for folder in own_folders)
        self._pid = _getpid()
        self._lock = threading.RLock()
        self._entries = []
        self._entry = self._first = self._flying = self._seen = None
        self._mode, self._at, self._line, self._thread = "run", None, 0, None
        self._hidden = {}
        self._inner = self._local
        self.started = False
        self.busy = "test"
        """`test` while the test runs, `command` while a command does, `idle` while we wait for one."""
        self._asker = None
        signal.signal(_SIGNAL, self._break_in)

    # what the stage tells

    def enter(self, codes):
        """Code of the case: its first line is the first stop."""
        self._entries = list(codes)
        for code in self._entries:
            self.places.names.setdefault(code.co_name, True)

    def start(self):
        """Follow calls from now on, in threads that are started later too."""
        if self.started or _getpid() != self._pid:
            return
        self.started = True
        trace = self._follower()
        threading.settrace(trace)
        _settrace(trace)

    def lost(self):
        """Whether the test has put another trace function, or none, in the place of ours."""
        return self.started and getattr(_gettrace(), "__name__", "") not in ("swt_follow", "swt_follow_all")

    def caught(self, error, tb):
        """A failure that the runner has caught outside the case's own code: a fixture, set-up, a sub-test."""
        if _getpid() == self._pid and error is not self._seen and type(error).__name__ not in _NO_FAILURE:
            self._post_mortem(error, tb)

    # trace functions

    def _follower(self):
        names, call = self.places.names, self._call

        def swt_follow(frame, event, arg):
            if frame.f_code.co_name in names:
                return call(frame)
            return None

        return swt_follow

    def _stepper(self):
        call, thread, local = self._call, self._thread, self._inner

        def swt_follow_all(frame, event, arg):
            if _ident() == thread and not self._is_hidden(frame):
                call(frame)
                return local
            return call(frame)

        return swt_follow_all

    def _call(self, frame):
        """The local trace function of a frame that has begun, or of a generator that goes on; null for most."""
        code = frame.f_code
        if self._entry is None and any(code is one for one in self._entries):
            self._entry = self._first = frame
        if frame is self._entry or frame is self._at or self.places.covers(code):
            return self._inner
        return None

    def _local(self, frame, event, arg):
        if event == "line":
            self._at_line(frame)
        elif event == "return":
            self._at_return(frame, arg)
        elif event == "exception":
            self._at_exception(frame, arg)
        return self._inner

    def _at_line(self, frame):
        why = None
        if frame is self._entry:
            self._flying = None
        if frame is self._first:
            self._first, why = None, "The test begins here."
        elif self._mode != "run" and self._steps(frame):
            why = ""
        found = self.places.hit(frame)
        if found is not None:
            why = self._judge(found, frame, why)
        if why is not None:
            self._stop_at(frame, why)

    def _judge(self, found, frame, why):
        """Why a breakpoint stops here; `why` where its condition does not hold."""
        if found.test is not None:
            try:
                if not eval(found.test, frame.f_globals, frame.f_locals):
                    return why
            except Interrupted:
                raise
            except BaseException as error:
                found.hits += 1
                return "Breakpoint %d: its condition raised %s" % (found.number, named(error))
        found.hits += 1
        return ("%s " % why if why else "") + "Breakpoint %d." % found.number

    def _steps(self, frame, line=True):
        if _ident() != self._thread:
            return False
        if self._mode == "step":
            return not self._is_hidden(frame)
        if frame is not self._at:
            return False
        return self._mode == "next" or not line or (self._mode == "until" and frame.f_lineno >= self._line)

    def _at_return(self, frame, value):
        returns = _returns(frame)
        if frame is self._entry and not returns and self._flying is not None:
            error, tb = self._flying
            self._flying = None
            if type(error).__name__ not in _NO_FAILURE:
                self._post_mortem(error, tb)
            return
        if self._mode == "run" or _ident() != self._thread:
            return
        if frame.f_code.co_flags & _GENERATOR and self._mode != "step" and not _ends(frame):
            return
        if returns and self._steps(frame, line=False):
            self._stop_at(frame, "", returned=(value,))
        if frame is self._entry:
            self._run_on()
        elif self._mode == "step" or (self._mode != "run" and frame is self._at):
            self._hand_to_caller(frame)

    def _hand_to_caller(self, frame):
        """What was stepping in a frame that ends goes on in the one that called it."""
        caller = frame.f_back
        while caller is not None and self._is_hidden(caller):
            caller = caller.f_back
        if caller is None:
            self._run_on()
            return
        caller.f_trace = self._inner
        if self._mode in ("next", "until"):
            self._mode, self._at = "next", caller

    def _run_on(self):
        self._mode, self._at = "run", None

    def _at_exception(self, frame, info):
        kind, error, tb = info
        if not isinstance(error, BaseException):
            try:
                error = kind(*error) if isinstance(error, tuple) else kind() if error is None else kind(error)
            except Exception:
                error = Exception("%s: %s" % (kind.__name__, error))
        if frame is self._entry:
            self._flying = (error, tb)
        if isinstance(error, (StopIteration, GeneratorExit)) or self._mode == "run":
            return
        if self._steps(frame, line=False):
            self._stop_at(frame, "Raised: " + named(error))

    # stops

    def _stop_at(self, frame, why, returned=()):
        frames, above = self._stack(frame)
        view = View("stopped", why, frames, above)
        view.returning = bool(returned)
        view.returned = returned
        self._stop(view)

    def _post_mortem(self, error, tb):
        self._seen = error
        frames = []
        while tb is not None:
            frames.append((tb.tb_frame, tb.tb_lineno))
            tb = tb.tb_next
        above = self._leading(frames)
        frames = frames[above:] or frames
        shown = [index for index, (frame, _) in enumerate(frames) if not self._is_hidden(frame)]
        at = shown[-1] if shown else None
        self._stop(View("post-mortem", "The test failed: " + named(error), frames, above, at, error))

    def over(self, text):
        """The test has ended, as `text` says. Never returns: `restart` ends the process."""
        if _getpid() != self._pid:
            return
        _settrace(None)
        threading.settrace(None)
        while True:
            self._ask_for(View("over", text, []))

    def _stop(self, view):
        """Ask what to do, and arrange for it."""
        if _getpid() != self._pid:
            _settrace(None)
            return
        with self._lock:
            limit, timer = _getlimit(), _setitimer(_TIMER, 0)
            _setlimit(limit + _ROOM)
            try:
                mode, line = self._ask_for(view)
            finally:
                if timer[0]:
                    _setitimer(_TIMER, *timer)
                with contextlib.suppress(RecursionError):
                    _setlimit(limit)
            self._resume(view, mode, line)

    def _ask_for(self, view):
        self._asker = _ident()
        try:
            return self._ask(view)
        finally:
            self._asker, self.busy = None, "test"

    def _resume(self, view, mode, line):
        if view.state != "stopped":
            self._run_on()
            return
        frame = view.frames[-1][0]
        self._mode, self._thread, self._line = mode, _ident(), line
        self._at = view.frame if mode in ("next", "until", "return") else None
        if view.returning and self._at is frame and mode != "return":
            self._mode, self._at = "step", None
        elif view.returning and self._at is frame:
            self._at = frame.f_back
        self._arm(frame)
        follow = self._stepper() if self._mode == "step" else self._follower()
        _settrace(follow)

    def _arm(self, frame):
        """Local trace functions for the frames on the stack that need one, and for no others."""
        top = frame
        while frame is not None:
            wanted = frame in (self._entry, self._at) or self.places.covers(frame.f_code)
            if wanted or (frame is top and self._mode == "step"):
                frame.f_trace = self._inner
            elif frame.f_trace == self._inner:
                frame.f_trace = None
            frame = frame.f_back

    def _break_in(self, number, frame):
        """The time of a command is up: stop the test where it is, or give up what a command computes."""
        if _getpid() != self._pid or (self._asker is not None and self._asker != _ident()):
            return
        if self.busy == "command":
            raise Interrupted
        if self.busy == "test" and self._asker is None:
            while frame is not None and self._is_own(frame):
                frame = frame.f_back
            traced = _gettrace()
            _settrace(None)
            self._stop_at(frame, "Still running: it was stopped here." + self._others())
            if self._mode == "run" and traced is None:
                _settrace(None)

    def _others(self):
        """Where other threads are."""
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        told = []
        for ident, frame in list(_frames().items()):
            if ident != _ident() and ident in names:
                place = "%s(%d)" % (self.places.relative(frame.f_code.co_filename), frame.f_lineno)
                told.append("\nThread %s is at %s%s()" % (names[ident], place, frame.f_code.co_name))
        return "".join(told[:20])

    def _stack(self, frame):
        """(frames with their lines from the case's own on, how many are above)."""
        frames = []
        while frame is not None:
            frames.append((frame, frame.f_lineno))
            frame = frame.f_back
        frames.reverse()
        above = next((index for index, (one, _) in enumerate(frames) if one is self._entry), None)
        if above is None:
            above = self._leading(frames)
        return frames[above:], above

    def _leading(self, frames):
        """How many frames at the start are the runner's."""
        return next((index for index, (one, _) in enumerate(frames) if not self._is_hidden(one)), len(frames) - 1)

    def _is_own(self, frame):
        return os.path.realpath(frame.f_code.co_filename).startswith(self._own)

    def _is_hidden(self, frame):
        """Whether it is code that runs tests and not under test: nobody wants to step through it."""
        name = frame.f_code.co_filename
        known = self._hidden.get(name)
        if known is None:
            known = self._hidden[name] = self._hides(name)
        return known

    def _hides(self, name):
        if name.startswith("<frozen") or "/importlib/" in name:
            return True
        file = self.places.file(name)
        if file.startswith(self._own):
            return True
        if file.startswith(self.places.root + os.sep):
            return file.endswith((os.sep + "runtests.py", os.sep + "bin" + os.sep + "test"))
        parts = file.split(os.sep)
        return any(part in ("_pytest", "pluggy", "unittest", "runpy.py", "threading.py") for part in parts)


def _operation(frame):
    code = frame.f_code.co_code
    return dis.opname[code[frame.f_lasti]] if 0 <= frame.f_lasti < len(code) else ""


def _returns(frame):
    """Whether a frame is left with a value, and not by an exception: both are a `return` to a trace function."""
    return _operation(frame).startswith(("RETURN_", "YIELD_", "SEND", "GET_AWAITABLE"))


def _ends(frame):
    return _operation(frame).startswith(("RETURN_VALUE", "RETURN_CONST"))
