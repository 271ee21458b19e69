"""An ordinary test suite. It finds ZooKeeper by an environment variable and knows nothing of zktorture."""

import os

import pytest
from kazoo.client import KazooClient
from kazoo.retry import KazooRetry


@pytest.fixture
def client():
    client = KazooClient(os.environ["ZOOKEEPER"], timeout=4, connection_retry=KazooRetry(max_tries=-1, max_delay=1))
    client.start()
    yield client
    client.stop()
    client.close()


def test_a_queue_gives_back_what_was_put_into_it(client):
    queue = client.Queue("/jobs")
    for i in range(100):
        queue.put(b"%d" % i)
    assert [queue.get() for _ in range(100)] == [b"%d" % i for i in range(100)]
