#!/usr/bin/python3
"""Kazoo's Lock, Semaphore, Queue and Counter as a worker of zktorture (docs/workers.md has the protocol).

    torture run lock --backend ensemble --recipe 'exec:/usr/bin/python3 examples/kazoo/worker.py'

Standard input has a command a line, standard output gets an answer a line. Each operation runs on a thread
of its own, because those of several users may be under way together. Debian's package is python3-kazoo.
"""

import json
import os
import sys
import threading

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, OperationTimeoutError, SessionExpiredError
from kazoo.protocol.states import KazooState
from kazoo.retry import RetryFailedError
from kazoo.version import __version__

VERSION = 1  # of the protocol
CONNECT_MAX = 20  # seconds

# Who retries waits twice as long each time, at most so many seconds. (By default that is an hour, so that a client
# does not come back for a long time after its servers have.)
RETRY = {"max_tries": -1, "max_delay": 1}

# After these nobody knows whether what was asked for has happened. (To give up retrying is one, as a try may have.)
UNKNOWN = (ConnectionLoss, OperationTimeoutError, RetryFailedError, SessionExpiredError)


class LockUser:
    """kazoo.recipe.lock.Lock for one user. Its own session is what a user of kazoo has to watch."""

    can = ["try"]

    def __init__(self, client, path, assignment):
        self.lock = self.of(client, path, assignment)
        self.operations = {"acquire": self.acquire, "try": self.try_lock, "release": self.release}

    @staticmethod
    def of(client, path, _):
        return client.Lock(path)

    def acquire(self, _):
        if not self.lock.acquire():
            raise RuntimeError("acquire returned False")

    def try_lock(self, _):
        return bool(self.lock.acquire(blocking=False))

    def release(self, _):
        if not self.lock.release():
            raise RuntimeError("release returned False: it was not acquired")

    def cancel(self):
        self.lock.cancel()


class SemaphoreUser(LockUser):
    """kazoo.recipe.lock.Semaphore for one user, which is used like the Lock."""

    @staticmethod
    def of(client, path, assignment):
        return client.Semaphore(path, max_leases=assignment["permits"])


class QueueUser:
    """kazoo.recipe.queue.Queue for one user. Items are bytes there and texts in the protocol."""

    can = []

    def __init__(self, client, path, _):
        self.queue = client.Queue(path)
        self.operations = {"offer": self.offer, "poll": self.poll}

    def offer(self, item):
        self.queue.put(item.encode())

    def poll(self, _):
        item = self.queue.get()
        return None if item is None else item.decode()

    def cancel(self):
        pass  # nothing waits


class CounterUser:
    """kazoo.recipe.counter.Counter for one user."""

    can = []

    def __init__(self, client, path, _):
        self.counter = client.Counter(path, default=0)
        self.operations = {"add": self.add, "get": self.get}

    def add(self, delta):
        self.counter += delta
        return self.counter.post_value

    def get(self, _):
        return self.counter.value

    def cancel(self):
        pass  # nothing waits


KINDS = {"lock": LockUser, "semaphore": SemaphoreUser, "queue": QueueUser, "counter": CounterUser}


class Worker:
    """One process: one session, and an object for each user."""

    def __init__(self):
        self.writing = threading.Lock()
        self.ready = False
        self.users = {}
        self.running = {}  # by id: the user whose operation it is

    def write(self, **line):
        with self.writing:
            self.put(line)

    @staticmethod
    def put(line):
        print(json.dumps(line, separators=(",", ":")), flush=True)

    def session(self):
        """The present session as the protocol writes it, None if there is none."""
        known = self.client.client_id
        return "0x%x" % (known[0] & 0xFFFFFFFFFFFFFFFF) if known and known[0] else None

    def begin(self, assignment):
        """Connects, and says that it is ready or why it is not. Returns whether it is."""
        if assignment["zktorture"] != VERSION:
            return self.refuse("the runner has version %s of the protocol" % assignment["zktorture"])
        if assignment["kind"] not in KINDS:
            return self.refuse("there is no %s here: there are %s" % (assignment["kind"], ", ".join(KINDS)))
        self.assignment, self.make = assignment, KINDS[assignment["kind"]]
        self.client = KazooClient(
            hosts=assignment["servers"],
            timeout=assignment["session_timeout_ms"] / 1000,
            connection_retry=RETRY,
            command_retry=RETRY,
        )
        self.client.add_listener(self.changed)
        self.client.start(timeout=CONNECT_MAX)
        with self.writing:  # so that no change of the session is missed after this line
            self.put({"zktorture": VERSION, "can": self.make.can, "session": self.session()})
            self.ready = True
        return True

    def refuse(self, why):
        self.write(zktorture=VERSION, error=why)
        return False

    def changed(self, state):
        """Tells what became of the session; kazoo calls it from a thread of its own."""
        names = {KazooState.CONNECTED: "connected", KazooState.SUSPENDED: "suspended", KazooState.LOST: "lost"}
        with self.writing:
            if self.ready:
                self.put({"state": names[state], "session": None if state == KazooState.LOST else self.session()})

    def take(self, command):
        """Begins to carry out a command."""
        if "cancel" in command:
            user = self.running.get(command["cancel"])
            if user is not None:
                user.cancel()
        elif command["op"] == "object":
            self.users[command["user"]] = self.make(self.client, command["arg"], self.assignment)
            self.write(id=command["id"], outcome="ok", session=self.session())
        else:
            user = self.users[command["user"]]
            self.running[command["id"]] = user
            threading.Thread(target=self.carry_out, args=(user, command), daemon=True).start()

    def carry_out(self, user, command):
        # A session that is there before and after was there all the time: none comes twice.
        before = self.session()
        answer = {"id": command["id"], "outcome": "ok"}
        try:
            result = user.operations[command["op"]](command.get("arg"))
            if result is not None:
                answer["result"] = result
        except Exception as error:  # whatever a recipe raises is its answer
            answer["outcome"] = "unknown" if isinstance(error, UNKNOWN) else "fail"
            answer["error"] = "%s: %s" % (type(error).__name__, error)
        after = self.session()
        answer["session"] = after if after == before else None
        del self.running[command["id"]]
        self.write(**answer)

    def end(self):
        """Ends the session, so that the servers need not wait for its timeout."""
        with self.writing:
            self.ready = False
        self.client.stop()
        self.client.close()


def main():
    worker = Worker()
    first = sys.stdin.readline()
    if not first or not worker.begin(json.loads(first)):
        return
    print("kazoo %s, process %d" % (__version__, os.getpid()), file=sys.stderr, flush=True)
    for line in sys.stdin:
        worker.take(json.loads(line))
    worker.end()


if __name__ == "__main__":
    main()
