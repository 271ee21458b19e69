#!/bin/sh
# Runs the test suite of a client library with the fake in the place of its Java servers.
#
#	suite.sh go-zookeeper [go test's arguments]
#	suite.sh kazoo [pytest's arguments]
#
# Exit status 0: it came out as with Java's servers. It is run from the top of the repository; kazoo needs the Debian
# packages that `make suites` installs.
set -eu
suite=$1
shift
work=$(mktemp -d)
trap 'pkill -f "^$work/standin" || :; rm -rf "$work"' EXIT
go build -o "$work/standin" ./fakezk/conformance/suites/standin
printf '#!/bin/sh\nexec "%s/standin" "$@"\n' "$work" | tee "$work/java" > "$work/zkServer.sh"
chmod +x "$work/java" "$work/zkServer.sh"
export TMPDIR="$work"

case $suite in
go-zookeeper)
	cp -r "$(go list -m -f '{{.Dir}}' github.com/go-zookeeper/zk)" "$work/zk"
	chmod -R u+w "$work/zk"
	cd "$work/zk"
	ZK_VERSION=3.8.0 ZOOKEEPER_BIN_PATH="$work" go test -count=1 -timeout 30m "$@" ./...
	;;
kazoo)
	tests=$(/usr/bin/python3 -c 'import kazoo.tests; print(kazoo.tests.__path__[0])')
	cd "$work"
	# What fails with Java's servers too: the client comes back with a session that a read-only server does not know.
	# Ports below those that the system gives out; two runs at a time are unlikely to have the same.
	PATH="$work:$PATH" ZOOKEEPER_PORT_OFFSET=$((20000 + $$ % 120 * 100)) ZOOKEEPER_PATH=/usr/share/java ZOOKEEPER_VERSION=3.8.0 ZOOKEEPER_CLUSTER_SIZE=3 \
		timeout 60m /usr/bin/python3 -m pytest -q -p no:cacheprovider --rootdir="$work" \
		--deselect test_connection.py::TestReadOnlyMode::test_read_only "$@" "$tests"
	;;
*)
	echo "suite.sh: no suite is called $suite: there are go-zookeeper and kazoo" >&2
	exit 2
	;;
esac
