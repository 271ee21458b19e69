import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, SessionExpiredError


@pytest.fixture
def connect(zktorture):
    clients = []

    def one():
        client = KazooClient(zktorture.hosts, timeout=10)
        client.start(timeout=60)
        clients.append(client)
        return client

    yield one
    for client in clients:
        client.stop()
        client.close()


def session(client):
    return client.client_id[0]


@pytest.mark.parametrize("again", range(2))
def test_each_begins_clean(zktorture, connect, again):
    client = connect()
    assert client.create("/n-", sequence=True) == "/n-0000000000"
    zktorture.ask("POST", "hold", session=session(connect()))
    assert len(zktorture.faults()["on"]) == 1


def test_a_lock_ends_with_its_session(zktorture, connect):
    first, second = connect(), connect()
    assert first.Lock("/lock").acquire(timeout=60)
    zktorture.expire(session(first))
    assert second.Lock("/lock").acquire(timeout=60)


def test_a_lost_reply_is_of_what_was_done(zktorture, connect):
    client, other = connect(), connect()
    zktorture.lose_reply(session(client))
    with pytest.raises(ConnectionLoss):
        client.create("/once")
    assert other.exists("/once")


def test_faults_strike_as_the_seed_says(zktorture, connect):
    zktorture.faults("expiry", every=3, seed=7)
    client = connect()
    with pytest.raises((SessionExpiredError, ConnectionLoss)):
        for _ in range(100):
            client.get("/")
    assert zktorture.faults()["struck"] == {"expiry": 1}


def test_what_is_refused_says_why(zktorture):
    with pytest.raises(ValueError, match=r"POST /expire\?session=0x7: there is no such session.*GET /sessions lists"):
        zktorture.expire(7)
