"""A queue in memory. What is offered says what becomes of the offer."""

import time

import zktorture


class Session(zktorture.Session):
    unknown = (ConnectionError,)

    def __init__(self, assignment, tell):
        self.number, self.tell = 10, tell

    def id(self):
        return self.number


class Queue:
    items = []

    def __init__(self, session, path):
        self.session = session

    def offer(self, item):
        print("offered", item)
        if item == "fail":
            raise ValueError("refused")
        if item == "unknown":
            raise ConnectionError("lost")
        if item == "expire":
            self.session.tell("suspended")
            self.session.tell("lost")
            self.session.number += 1
            self.session.tell("connected")
        self.items.append(item.encode())

    def poll(self):
        return self.items.pop(0) if self.items else None

    def take(self):
        while not self.items:
            zktorture.check()
            time.sleep(0.01)
        return self.items.pop(0)


class Counter:
    """A counter that cannot be read."""

    def add(self, delta):
        return delta


class Own:
    """A recipe of a kind of a user's own."""

    def __init__(self, session, path):
        pass

    def echo(self, text):
        return text

    def size(self):
        return 7


zktorture.serve(Session, queue=Queue, counter=Counter, own=Own)
