#!/usr/bin/python3
"""Publishers in Python, with kazoo: a recipe of a kind that is written in Go (kind.go). Nobody leads; versions are counted.

    go build -C examples -o ../out/mytorture ./torture
    out/mytorture live publisher --start 3 --recipe 'exec:/usr/bin/python3 examples/publisher/worker.py'
"""

import os
import sys

from kazoo.exceptions import BadVersionError

examples = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path += [os.path.join(examples, "kazoo"), os.path.join(examples, "..", "workers", "python")]
import zktorture  # noqa: E402
from session import Session  # noqa: E402


class Reader:
    def __init__(self, session, path):
        self.client, self.path = session.client, path + "/config"

    def get(self):
        self.client.sync(self.path)  # the server may lag, and not even have the znode yet
        data, stat = self.client.get(self.path)
        return int(data or 0), stat.version

    def read(self):
        return self.get()[0]


class Publisher(Reader):
    def publish(self):
        while True:
            published, at = self.get()
            try:
                self.client.set(self.path, b"%d" % (published + 1), at)
                return published + 1
            except BadVersionError:
                pass  # another has published meanwhile

    def close(self):
        pass


class Careless(Publisher):
    """Knows only what it has published itself."""

    published = 0

    def publish(self):
        self.published += 1
        self.client.set(self.path, b"%d" % self.published)
        return self.published


zktorture.serve(Session, publisher={"careless": Careless, "reader": Reader}.get(sys.argv[-1], Publisher))
