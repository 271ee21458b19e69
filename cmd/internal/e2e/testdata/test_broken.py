from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError


class Lock:
    """It is broken: its znode is not ephemeral, and outlives its holder."""

    def __init__(self, client):
        self.client = client

    def acquire(self):
        try:
            self.client.create("/lock")
        except NodeExistsError:
            return False
        return True


def test_a_lock_ends_with_its_session(zktorture):
    for _ in range(2):
        client = KazooClient(zktorture.hosts)
        client.start(timeout=60)
        assert Lock(client).acquire(), "the lock of a session that has expired is still held"
        zktorture.expire(client.client_id[0])
        client.stop()
