package scratch

import "github.com/zktorture/zktorture/ensemble/afterlife"

// removing is what a remover does. Whoever dies with the owner may still write a moment later; that is why it looks
// again a second after it has removed everything. It gives up after some seconds.
const removing = `for attempt in 1 2 3 4 5 6 7 8 9 10; do
	[ -f "$1.lock" ] || exit 0
	rm -rf -- "$1"
	sleep 1
	[ -e "$1" ] || rm -f -- "$1.lock"
done`

// newRemover starts a process that removes a folder when the process that started it has ended, or releases it.
func newRemover(path string) (*afterlife.Executor, error) {
	return afterlife.Start(removing, "zktorture-remover", path)
}
