"""Serves recipes for ZooKeeper to zktorture, which tortures and judges them, on real servers and on its own.

An adapter says how its client opens a session, and has a class for each kind of recipe. A whole worker:

    import zktorture
    from kazoo.client import KazooClient

    class Session(zktorture.Session):
        def __init__(self, assignment, tell):
            self.client = KazooClient(assignment["servers"], assignment["session_timeout_ms"] / 1000)
            self.client.add_listener(lambda state: tell(state.lower()))
            self.client.start()

        def id(self):
            return self.client.client_id and self.client.client_id[0]

        def close(self):
            self.client.stop()

    class Lock:
        def __init__(self, session, path):
            self.lock = session.client.Lock(path)
            self.cancel = self.lock.cancel

        def acquire(self):
            self.lock.acquire() or zktorture.fail("acquire returned False")

        def release(self):
            self.lock.release() or zktorture.fail("release returned False")

    zktorture.serve(Session, lock=Lock)

    torture live lock --start 3 --recipe 'exec:python3 worker.py'

The process has one session and several users. Each user has a thread, and makes an object of the class for each path
that it is given: cls(session, path). What the runner asks for are its methods, by the names of docs/workers.md (but
try_ and rtry, as try is a word of Python's); those that are optional there may be missing. They return the result,
with bytes for text, and raise what went wrong.

cancel() is optional, too: the caller of the operation under way has given up. It is called on another thread, again
and again until the operation has returned, which must be within ten seconds. A recipe without anything of the kind
can wait for a second at a time, and call zktorture.check() in between.

This file needs nothing but Python 3.7: copy it to where your worker is.
"""

import json
import queue
import sys
import threading

VERSION = 1  # of the protocol

OPTIONAL = ("try", "rtry", "take", "peek", "giveback", "token", "changed", "subtract", "owner")


class Failed(Exception):
    """The operation failed, and surely did not happen."""


class Unknown(Exception):
    """The operation may have happened or not; with the result that it had if it did, if that is known."""

    def __init__(self, message, result=None):
        super().__init__(message)
        self.result = result


def fail(message):
    """Raises Failed."""
    raise Failed(message)


class Session:
    """A session with ZooKeeper, which the client replaces when it is lost. An adapter has a class of this one.

    __init__(assignment, tell) connects and returns when there is a session. assignment is a dict: servers
    ("host:port,host:port"), session_timeout_ms, kind; permits of a semaphore, parties of a double barrier. tell(state)
    tells what has become of the session, from any thread: "connected", "suspended" (it cannot reach its servers) or
    "lost" (it is over, and a new one may follow).
    """

    # The exceptions after which nobody knows whether what was asked for has happened. After others it has not.
    unknown = (Exception,)

    def id(self):
        """The number of the present session; 0 or None if there is none."""
        raise NotImplementedError

    def close(self):
        """Ends the session."""


def check():
    """Raises Unknown if the caller of the operation of this thread has given up."""
    if _present.operation.given_up.is_set():
        raise Unknown("its caller has given up")


def serve(session, **kinds):
    """Serves recipes until standard input ends: session is a class of Session's, kinds are classes by kind.

    Standard input and output belong to the runner. What recipes print goes to standard error.
    """
    sys.stdin.reconfigure(encoding="utf-8")
    worker = _Worker(sys.stdout, kinds)
    sys.stdout = sys.stderr
    first = sys.stdin.readline()
    if not first or not worker.begin(session, json.loads(first)):
        return
    for line in sys.stdin:
        worker.take(json.loads(line))
    worker.end()


class _Operation:
    """An operation that a user was asked for."""

    def __init__(self, command):
        self.id, self.name, self.arg = command["id"], command["op"], command.get("arg")
        self.given_up, self.over = threading.Event(), threading.Event()

    def give_up(self, user):
        """Has the recipe give up, when it is at it."""
        self.given_up.set()
        cancel = getattr(user.object, "cancel", None)
        while cancel and not self.over.wait(0.1):
            if user.present is self:
                cancel()


_present = threading.local()  # .operation: that of a user's thread


class _User:
    """A user: a thread that does one thing after the other with one object."""

    def __init__(self, worker):
        self.worker, self.object, self.present = worker, None, None
        self.asked = queue.Queue()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            operation = self.asked.get()
            _present.operation = self.present = operation
            answer = self.answer(operation)
            self.present = None
            operation.over.set()
            self.worker.answered(operation, answer)

    def answer(self, operation):
        session = self.worker.session
        # A session that is there before and after was there all the time: none comes twice.
        before = session.id()
        try:
            answer = {"outcome": "ok", "result": self.do(operation)}
        except Unknown as error:
            answer = {"outcome": "unknown", "result": error.result, "error": _text(error)}
        except Exception as error:  # whatever a recipe raises is its answer
            unknown = isinstance(error, session.unknown) and not isinstance(error, Failed)
            answer = {"outcome": "unknown" if unknown else "fail", "error": _text(error)}
        if isinstance(answer.get("result"), bytes):
            answer["result"] = answer["result"].decode()
        answer["session"] = _name(before if session.id() == before else None)
        return answer

    def do(self, operation):
        if operation.name == "object":
            self.object = self.worker.made(operation.arg)
            return None
        method = _method(self.object, operation.name)
        return method() if operation.arg is None else method(operation.arg)


def _method(of, name):
    """The method of an operation, None if there is none."""
    return getattr(of, name + "_" if name == "try" else name, None)


def _text(error):
    return "%s: %s" % (type(error).__name__, error)


def _name(session):
    """A session as the protocol writes it; None if there is none."""
    return "0x%x" % (session & 0xFFFFFFFFFFFFFFFF) if session else None


class _Worker:
    """The process: what it says, its session and its users."""

    def __init__(self, out, kinds):
        self.out, self.kinds = out, kinds
        self.writing = threading.Lock()
        self.ready = False  # the first line has been written, and the session has not been ended
        self.users = {}
        self.running = {}  # by number of the operation: it and its user

    def write(self, **line):
        self.out.write(json.dumps({k: v for k, v in line.items() if v is not None or k == "session"}) + "\n")
        self.out.flush()

    def begin(self, session, assignment):
        """Opens the session, and says that the worker is ready or why it is not. Returns whether it is."""
        version, kind = assignment["zktorture"], assignment["kind"]
        if version != VERSION:
            self.write(zktorture=VERSION, error="the runner has version %s of the protocol" % version)
            return False
        if kind not in self.kinds:
            why = "there is no %s here: there are %s" % (kind, ", ".join(self.kinds))
            self.write(zktorture=VERSION, error=why)
            return False
        cls = self.kinds[kind]
        lacks = [name for name in assignment.get("operations", "").split() if not _method(cls, name)]
        if lacks:
            self.write(zktorture=VERSION, error="%s has no method for %s" % (cls.__name__, ", ".join(lacks)))
            return False
        self.made = lambda path: cls(self.session, path)
        self.session = session(assignment, self.tell)
        with self.writing:  # so that no change of the session is missed after this line
            can = [name for name in OPTIONAL if _method(cls, name)]
            self.write(zktorture=VERSION, can=can, session=_name(self.session.id()))
            self.ready = True
        return True

    def tell(self, state):
        with self.writing:
            if self.ready:
                self.write(state=state, session=_name(self.session.id()) if state == "connected" else None)

    def take(self, command):
        """Begins to carry out a command."""
        if "cancel" in command:
            with self.writing:
                running = self.running.get(command["cancel"])
            if running:
                threading.Thread(target=running[0].give_up, args=(running[1],), daemon=True).start()
            return
        number, operation = command["user"], _Operation(command)
        if number not in self.users:
            self.users[number] = _User(self)
        with self.writing:
            self.running[operation.id] = operation, self.users[number]
        self.users[number].asked.put(operation)

    def answered(self, operation, answer):
        with self.writing:
            del self.running[operation.id]
            self.write(id=operation.id, **answer)

    def end(self):
        """Ends the session, so that the servers need not wait for its timeout."""
        with self.writing:
            self.ready = False
        self.session.close()
