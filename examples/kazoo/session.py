"""A session of kazoo, for workers of zktorture."""

from kazoo.client import KazooClient

import zktorture

# Who retries waits twice as long each time, at most so many seconds. (By default that is an hour, so that a client
# does not come back for a long time after its servers have.)
RETRY = {"max_tries": -1, "max_delay": 1}


class Session(zktorture.Session):
    command_retry = None

    def __init__(self, assignment, tell):
        self.client = KazooClient(
            hosts=assignment["servers"],
            timeout=assignment["session_timeout_ms"] / 1000,
            connection_retry=RETRY,
            command_retry=self.command_retry,
        )
        self.client.add_listener(lambda state: tell(state.lower()))
        self.client.start(timeout=20)

    def id(self):
        return self.client.client_id and self.client.client_id[0]

    def close(self):
        self.client.stop()
        self.client.close()
