#!/usr/bin/python3
"""Kazoo's recipes as a worker of zktorture, by workers/python/zktorture.py.

    torture live lock --start 3 --recipe 'exec:/usr/bin/python3 examples/kazoo/worker.py'

Debian's package is python3-kazoo.
"""

import os
import sys
import threading
from concurrent.futures import Future

from kazoo.exceptions import ConnectionLoss, OperationTimeoutError, SessionExpiredError
from kazoo.retry import RetryFailedError

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "workers", "python"))
import zktorture  # noqa: E402

from session import RETRY, Session as OfKazoo  # noqa: E402


class Session(OfKazoo):
    # To give up retrying is unknown, too, as a try may have happened.
    unknown = (ConnectionLoss, OperationTimeoutError, RetryFailedError, SessionExpiredError)
    command_retry = RETRY

    def __init__(self, assignment, tell):
        super().__init__(assignment, tell)
        self.assignment = assignment


class Lock:
    """Its own session is what a user of kazoo has to watch, so there is no owner."""

    def __init__(self, session, path):
        self.lock = self.of(session, path)
        self.cancel = self.lock.cancel

    def of(self, session, path):
        return session.client.Lock(path)

    def acquire(self):
        self.lock.acquire() or zktorture.fail("acquire returned False")

    def try_(self):
        return self.lock.acquire(blocking=False)

    def release(self):
        self.lock.release() or zktorture.fail("release returned False: it was not acquired")


class Semaphore(Lock):
    def of(self, session, path):
        return session.client.Semaphore(path, max_leases=session.assignment["permits"])


class WriteLock(Lock):
    def of(self, session, path):
        return session.client.WriteLock(path)


class ReadLock(Lock):
    def of(self, session, path):
        return session.client.ReadLock(path)


class ReadWriteLock:
    def __init__(self, session, path):
        self.writer, self.reader = WriteLock(session, path), ReadLock(session, path)

    def acquire(self):
        self.use(self.writer).acquire()

    def try_(self):
        return self.use(self.writer).try_()

    def racquire(self):
        self.use(self.reader).acquire()

    def rtry(self):
        return self.use(self.reader).try_()

    def use(self, lock):
        self.cancel = lock.cancel
        return lock

    def release(self):
        self.writer.release()

    def rrelease(self):
        self.reader.release()


class Election:
    """A term is a call, which returns when its user resigns."""

    def __init__(self, session, path):
        self.election = session.client.Election(path)
        self.cancel = self.election.cancel

    def elected(self):
        won, self.resign = Future(), threading.Event()

        def run():
            try:
                self.election.run(lambda: won.set_result(None) or self.resign.wait())
                won.done() or zktorture.fail("the election was cancelled")
            except Exception as error:
                won.done() or won.set_exception(error)

        self.term = threading.Thread(target=run, daemon=True)
        self.term.start()
        won.result()

    def resigned(self):
        self.resign.set()
        self.term.join()


class Queue:
    """Items are bytes there and texts in the protocol."""

    def __init__(self, session, path):
        self.queue = session.client.Queue(path)

    def offer(self, item):
        self.queue.put(item.encode())

    def poll(self):
        return self.queue.get()


class LockingQueue:
    def __init__(self, session, path):
        self.queue = session.client.LockingQueue(path)

    def offer(self, item):
        self.queue.put(item.encode())

    def claim(self):
        item = self.queue.get(timeout=0.2)
        while item is None:
            zktorture.check()
            item = self.queue.get(timeout=0.2)
        return item

    def done(self):
        self.queue.consume() or zktorture.fail("consume returned False: the item is not held")

    def giveback(self):
        self.queue.release() or zktorture.fail("release returned False: the item is not held")

    def owner(self):
        return self.queue.holds_lock()


class Counter:
    def __init__(self, session, path):
        self.counter = session.client.Counter(path, default=0)

    def add(self, delta):
        self.counter += delta
        return self.counter.post_value

    def subtract(self, delta):
        self.counter -= delta
        return self.counter.post_value

    def get(self):
        return self.counter.value


class Barrier:
    def __init__(self, session, path):
        self.barrier = session.client.Barrier(path)

    def shut(self):
        self.barrier.create()

    def open(self):
        self.barrier.remove()

    def wait(self):
        while not self.barrier.wait(1):
            zktorture.check()


class DoubleBarrier:
    """Nobody can give up: an enter or a leave that is to is killed with its process."""

    def __init__(self, session, path):
        self.barrier = session.client.DoubleBarrier(path, session.assignment["parties"])

    def leave(self):
        self.barrier.leave()

    def enter(self):
        self.barrier.enter()
        if not self.barrier.participating:
            raise ConnectionLoss("enter returned, and the member does not participate")


class Party:
    """A party knows its member by the name from the beginning: one that only looks has none."""

    def __init__(self, session, path):
        self.client, self.path = session.client, path
        self.party = self.client.Party(path)

    def join(self, name):
        self.party = self.client.Party(self.path, name)
        self.party.join()

    def leave(self):
        self.party.leave()

    def members(self):
        return " ".join(sorted(self.party))


zktorture.serve(
    Session, lock=Lock, semaphore=Semaphore, rwlock=ReadWriteLock, election=Election, queue=Queue,
    lockingqueue=LockingQueue, counter=Counter, barrier=Barrier, doublebarrier=DoubleBarrier, membership=Party,
)
