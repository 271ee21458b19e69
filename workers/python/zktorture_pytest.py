"""The fixture zktorture of pytest: a ZooKeeper in memory (torture serve), clean for each test, that fails on request."""

import json
import shutil
import subprocess
from urllib import error, parse, request

import pytest

_open = request.build_opener(request.ProxyHandler({})).open  # loopback needs no proxy


class Servers:
    """The servers. docs/reference/control.openapi.json has what ask can ask for. What is refused raises ValueError."""

    def __init__(self, ready):
        self.hosts, self.control = ready["connect"], ready["control"]

    def ask(self, method, name, **parameters):
        if "session" in parameters:  # a number, as clients have it
            parameters["session"] = "%#x" % (parameters["session"] & 0xFFFFFFFFFFFFFFFF)
        url = "%s/%s?%s" % (self.control, name, parse.urlencode(parameters))
        try:
            with _open(request.Request(url, method=method)) as answer:
                return json.loads(answer.read() or "null")
        except error.HTTPError as refused:
            raise ValueError("%(request)s: %(error)s; %(help)s" % json.load(refused)) from None

    def faults(self, names=None, **odds):
        """Lets faults strike from now on, on clean servers: faults("loss,expiry", every=10, seed=7). Says what is on."""
        if names is not None:
            self.ask("POST", "reset", faults=names, **odds)
        return self.ask("GET", "faults")

    def reset(self): self.ask("POST", "reset")
    def expire(self, session): self.ask("POST", "expire", session=session)
    def cut(self, session): self.ask("POST", "cut", session=session, when="now")
    def lose_request(self, session): self.ask("POST", "cut", session=session, when="before")
    def lose_reply(self, session): self.ask("POST", "cut", session=session, when="after")


def pytest_addoption(parser):
    parser.addini("zktorture_args", "arguments of torture serve, such as --size 3", type="args", default=[])


@pytest.fixture(scope="session")
def zktorture_servers(pytestconfig):
    torture = shutil.which("torture") or pytest.fail(
        "torture is not on PATH: go install github.com/zktorture/zktorture/cmd/torture@latest")
    command = [torture, "serve", "--control", "127.0.0.1:0", *pytestconfig.getini("zktorture_args")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        ready = process.stdout.readline() or pytest.fail("torture serve did not start; its standard error says why")
        yield Servers(json.loads(ready))
        process.terminate()


@pytest.fixture
def zktorture(zktorture_servers):
    zktorture_servers.reset()
    return zktorture_servers
