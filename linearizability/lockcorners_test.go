package linearizability

import "testing"

// TestLockCorners are histories that are rarely drawn: each breaks a monitor that leaves out one rule.
// Monitor and porcupine must say what is right.
func TestLockCorners(t *testing.T) {
	for _, c := range []struct {
		name    string
		model   Model
		history string
		want    Status
	}{
		{"a release that returns before its grant does", Lock(), `
			client 0 acquire → 1 [6..21]
			client 2 acquire → 2 [15..25]
			client 0 release [21..28]
			client 1 acquire → 3 [31..34]
			client 1 release [31..31]
			client 2 release (unknown) [32..]`, Violation},
		{"a release that touches its grant may end a grant of unknown outcome", Lock(), `
			client 0 acquire → 7 [1..5]
			client 0 acquire → 5 (unknown) [2..]
			client 0 release [5..6]
			client 0 release [10..12]`, Undetermined},
		{"a hold of no length that a longer one delays", Lock(), `
			client 0 acquire → 1 (unknown) [1..]
			client 0 release [10..20]
			client 1 acquire [5..6]
			client 1 release [18..19]
			client 2 acquire → 2 (unknown) [1..]
			client 2 release [5..15]`, Violation},
		{"a grant without a token serves before one with a token", Lock(), `
			client 0 acquire → 1 [1..2]
			client 0 release [3..4]
			client 1 acquire (unknown) [3..]
			client 1 acquire → 1 (unknown) [3..]
			client 1 release [5..6]`, Ok},
		{"nobody writes at the instant of a downgrade", RWLock(), `
			client 3 acquire [1..4]
			client 0 try (unknown) [17..]
			client 0 release [30..35]
			client 3 downgrade [32..35]`, Violation},
		{"a downgrade says that a release of unknown outcome came later", RWLock(), `
			client 1 acquire [3..16]
			client 1 release (unknown) [18..]
			client 0 racquire [27..33]
			client 1 downgrade [40..50]`, Violation},
		{"a downgrade touches the release before it", RWLock(), `
			client 0 acquire (unknown) [9..]
			client 0 downgrade (unknown) [10..]
			client 0 release [10..13]
			client 0 downgrade [13..15]`, Undetermined},
		{"either of two tokens may be the one", Lock(), `
			client 0 acquire → 5 (unknown) [1..]
			client 0 acquire → 1 (unknown) [2..]
			client 1 acquire → 3 [4..5]
			client 1 release [6..7]
			client 0 release [10..11]`, Undetermined},
		{"two writers that become readers at one instant", RWLock(), `
			client 0 acquire (unknown) [1..]
			client 0 downgrade [10..20]
			client 1 acquire (unknown) [1..]
			client 1 downgrade [12..20]
			client 0 rrelease [30..31]
			client 1 rrelease [33..34]`, Undetermined},
		{"what was released for a second time does not last", RWLock(), `
			client 1 acquire [1..2]
			client 1 release (unknown) [3..]
			client 1 release [4..5]
			client 1 downgrade [6..7]`, Undetermined},
		{"an addition that covers more than the gap", Counter(), `
			client 0 add 1 → 1 [1..2]
			client 1 add 2 → 2 (unknown) [1..]
			client 0 add 1 → 3 [3..4]`, Violation},
		{"an addition that must be over before one of unknown outcome", Counter(), `
			client 0 add 1 [1..7]
			client 0 add 1 → 3 [7..10]
			client 0 add 1 → 1 (unknown) [10..]`, Undetermined},
		{"readers do not order readers", RWLock(), `
			client 0 racquire → 5 [1..2]
			client 0 rrelease [3..4]
			client 1 racquire → 4 [5..6]
			client 1 rrelease [7..8]`, Ok},
		{"a reader behind a writer behind a reader", RWLock(), `
			client 0 racquire → 3 [1..2]
			client 0 rrelease [3..4]
			client 1 acquire → 2 [1..8]
			client 1 release [9..10]
			client 2 racquire → 1 [5..8]
			client 2 rrelease [11..12]`, Violation},
	} {
		h := parseHistory(t, c.history)
		sortByCall(h)
		if problem := new(tally).dispute(&contender{model: c.model}, h); problem != "" {
			t.Errorf("%s: %s", c.name, problem)
		}
		if r := c.model.monitor(c.model.steps(h)); Status(r.Outcome) != c.want {
			t.Errorf("%s: the monitor says %v (%s), not %v", c.name, Status(r.Outcome), r.Reason, c.want)
		}
	}
}
