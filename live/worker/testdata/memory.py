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


zktorture.serve(Session, queue=Queue)
