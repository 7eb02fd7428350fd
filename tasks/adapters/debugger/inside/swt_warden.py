"""The process between the host and the test: forks the test anew for each start, hands commands on, and counts time.

    host ──socket──► warden ──socket pair──► child (runner, the test, the debugger in it)

A test that does not answer in time is broken into by a signal, so that it can be looked at where it hangs; one that
does not even answer that is killed and started again. Whatever the test does to its own process ends that one only.
"""

import os
import signal
import socket
import sys
import time

import swt_debugger
import swt_one_case
from swt_commands import Commands, Motion
from swt_debugger import Debugger
from swt_places import NoPlace, Places
from swt_show import Interrupted, cut, named
from swt_talk import Talk

_exit = os._exit
_CUT_OFF = 71
"""Exit code of a test that has closed our descriptor: it cannot be asked any more."""
_GRACE_S = 1.5
"""How long a test that is broken into may take to answer."""
_TICK_S = 0.05
_DEAF_TO = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGPIPE")


def serve(config):
    """Never returns."""
    host = Talk(_connected(config["socket"]))
    warden = Warden(config, host)
    try:
        warden.serve()
    except EOFError:
        pass
    finally:
        warden.kill()
        os._exit(0)


def _connected(path):
    """By a short name: the path of a socket may have 107 bytes."""
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        wire.connect("/proc/self/fd/%d/%s" % (folder, os.path.basename(path)))
        return wire.detach()
    finally:
        os.close(folder)


class Warden(object):
    """One debugging session."""

    def __init__(self, config, host):
        self._config = config
        self._host = host
        self._child = None
        self._group = 0
        """Process group of the latest child: what it started may outlive it."""
        self._talk = None
        self._breaks = config["breaks"]
        for name in _DEAF_TO:
            signal.signal(getattr(signal, name), signal.SIG_IGN)

    def serve(self):
        while True:
            asked = self._host.receive()
            began = time.monotonic()
            answer = self._handle(asked["command"], asked["limit_s"], asked["start_s"])
            self._breaks = answer.setdefault("breaks", self._breaks)
            answer["seconds"] = time.monotonic() - began
            self._host.send(answer)

    def _handle(self, command, limit, start):
        if command.strip() == "restart":
            return self._start(start)
        if self._child is None:
            return {"state": "gone", "text": "*** the test's process is gone: `restart` starts it again"}
        try:
            self._talk.send({"command": command})
        except EOFError:
            return self._gone()
        answer, killed = self._answer(limit)
        if not killed:
            return answer
        again = self._start(start)
        said = "*** there was no answer within %g s, and nothing could break in: the test was killed.\n" % limit
        again["text"] = cut(said + "It was started again.\n" + again["text"])
        again["restarted"] = True
        return again

    def _start(self, limit):
        self.kill()
        ours, theirs = socket.socketpair()
        self._child = os.fork()
        if not self._child:
            ours.close()
            _become_test(self._config, self._breaks, theirs.detach(), self._host.fd)
        self._group = self._child
        theirs.close()
        self._talk = Talk(ours.detach())
        answer, killed = self._answer(limit)
        if killed:
            return {"state": "gone", "text": "*** the test did not begin within %g s and was killed" % limit}
        return answer

    def _answer(self, limit):
        """(answer, whether the test had to be killed). Broken into when its time is up."""
        for patience, knock in ((limit, True), (_GRACE_S, False)):
            end = time.monotonic() + patience
            while time.monotonic() < end:
                if self._talk.waiting(min(_TICK_S, max(0.0, end - time.monotonic()))):
                    try:
                        return self._talk.receive(), False
                    except (EOFError, ValueError):
                        return self._gone(), False
                if self._host.waiting():
                    raise EOFError
                if self._ended() and not self._talk.waiting():
                    return self._gone(), False
            if knock:
                self._signal(swt_debugger._SIGNAL)
        self.kill()
        return {}, True

    def _ended(self):
        """Whether the child has ended; a process that it left behind may still hold its end of the talk."""
        if not isinstance(self._child, int):
            return True
        found, status = os.waitpid(self._child, os.WNOHANG)
        if found:
            self._child = _told(status)
        return bool(found)

    def _gone(self):
        """The answer of a test whose process has ended by itself."""
        end = time.monotonic() + _GRACE_S
        while not self._ended() and time.monotonic() < end:
            time.sleep(_TICK_S / 10)
        how = self._child if isinstance(self._child, str) else "it closed its connection to the debugger"
        self.kill()
        text = "The test's process ended: %s. Nothing of it is left to look at; `restart` starts it again." % how
        return {"state": "gone", "text": text}

    def _signal(self, number):
        try:
            os.kill(self._child, number)
        except ProcessLookupError:
            return

    def kill(self):
        """End the child and its process group."""
        child, self._child = self._child, None
        if self._talk is not None:
            os.close(self._talk.fd)
            self._talk = None
        alive = isinstance(child, int)
        for end, target in ((os.killpg, self._group), (os.kill, child if alive else 0)):
            try:
                target and end(target, signal.SIGKILL)
            except OSError:
                continue
        if alive:
            os.waitpid(child, 0)


def _told(status):
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = next((one.name for one in signal.Signals if one == number), "a signal")
        return "%s (signal %d) ended it" % (name, number)
    return "exit code %d, before the test's end" % os.WEXITSTATUS(status)


def _become_test(config, breaks, fd, host):
    """The child. Never returns."""
    code = 70
    try:
        os.close(host)
        os.setpgid(0, 0)
        for name in _DEAF_TO:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        Child(config, breaks, fd).run()
    except BaseException as error:
        os.write(2, ("debugger: %s\n" % named(error)).encode("utf-8", "backslashreplace"))
    finally:
        os._exit(code)


class Child(object):
    """The test's process: answers while it is stopped."""

    def __init__(self, config, breaks, fd):
        self._config = config
        self._talk = Talk(fd)
        self._places = Places(os.getcwd())
        self._commands = Commands(self._places)
        own = [os.path.dirname(os.path.realpath(__file__))]
        own += [os.path.realpath(config[name]) for name in ("runner", "selecting")]
        self._debugger = Debugger(self._places, self._ask, own)
        self._debugger.outcome = None
        for one in breaks:
            self._places.add(one["file"], one["line"], one["names"], one["condition"])

    def run(self):
        if any(name == "<module>" for name in self._places.names):
            self._debugger.start()
        swt_one_case.run(self._config, self._debugger)

    def _ask(self, view):
        """Say where it is, then answer commands until one lets the test go on."""
        _flush()
        self._say(view, self._commands.here(view))
        while True:
            typed = self._listen()
            try:
                self._debugger.busy = "command"
                text = self._commands.answer(view, typed)
            except Motion as motion:
                return motion.args
            except NoPlace as problem:
                text = "*** " + str(problem)
            except Interrupted:
                text = "*** given up: it took longer than a command may"
            except BaseException as error:
                text = "*** " + cut(named(error))
            finally:
                self._debugger.busy = "idle"
            self._say(view, text)

    def _listen(self):
        """The next command, whatever a signal's handler does meanwhile."""
        self._debugger.busy = "idle"
        while True:
            try:
                return self._talk.receive()["command"]
            except EOFError:
                _exit(_CUT_OFF)
            except BaseException:
                continue

    def _say(self, view, text):
        frame, places = view.frame, self._places
        said = {
            "state": view.state,
            "text": cut(text),
            "path": places.relative(places.file(frame.f_code.co_filename)) if frame else "",
            "line": view.line,
            "function": frame.f_code.co_name if frame else "",
            "outcome": self._debugger.outcome if view.state == "over" else None,
            "breaks": [one.told() for one in places.all],
        }
        try:
            self._talk.send(said)
        except EOFError:
            _exit(_CUT_OFF)


def _flush():
    """What the test printed comes before what we say."""
    try:
        sys.__stdout__.flush()
    except Exception:
        return
