package published

import (
	"slices"
	"testing"
)

// What Java's ZNodeName makes of names, the wrong ones included.
func TestZNodeName(t *testing.T) {
	for _, test := range []struct {
		name, prefix string
		sequence     int32
	}{
		{"/l/x-200-0000000007", "/l/x-200", 7},
		{"/l/x-200-2147483647", "/l/x-200", 2147483647},
		{"/l/x-200--2147483648", "/l/x-200-", -1},       // W14: the sign is eaten, the rest does not fit an int
		{"/l/x--5--2147483647", "/l/x--5-", 2147483647}, // W14: fits, and has become positive
		{"/l/x--5-0000000001", "/l/x--5", 1},
		{"/l/x-200-", "/l/x-200", -1},
		{"/l/x-200-abc", "/l/x-200", -1},
		{"/l/x-200-+7", "/l/x-200", 7}, // Integer.parseInt accepts a plus sign
		{"/l/x-200-1_0", "/l/x-200", -1},
		{"foo", "foo", -1},
	} {
		z := splitAtHyphen(test.name)
		if z.name != test.name || z.prefix != test.prefix || z.sequence != test.sequence {
			t.Errorf("%q: prefix %q, sequence %d", test.name, z.prefix, z.sequence)
		}
	}
}

// asPublished reads and compares names as the class did.
var asPublished = naming{splitAtHyphen, bySession}

func TestSortedSet(t *testing.T) {
	for _, test := range []struct {
		why       string
		in, order []string
	}{
		{"one session: by number", []string{"x-1-0000000003", "x-1-0000000001"},
			[]string{"/l/x-1-0000000001", "/l/x-1-0000000003"}},
		{"W2: by session first", []string{"x-200-0000000000", "x-100-0000000001"},
			[]string{"/l/x-100-0000000001", "/l/x-200-0000000000"}},
		{"W14: later is smaller", []string{"x-5--2147483647", "x-5--2147483646"},
			[]string{"/l/x-5--2147483646", "/l/x-5--2147483647"}},
		{"without a number: last", []string{"x-1-a", "x-1-0000000001"}, []string{"/l/x-1-0000000001", "/l/x-1-a"}},
	} {
		var got []string
		for _, z := range asPublished.sortedSet("/l", test.in) {
			got = append(got, z.name)
		}
		if !slices.Equal(got, test.order) {
			t.Errorf("%s: %q", test.why, got)
		}
	}
}

func TestHeadSet(t *testing.T) {
	set := asPublished.sortedSet("/l", []string{"x-1-0000000001", "x-1-0000000002", "x-1-0000000003"})
	for i, z := range set {
		if head := asPublished.headSet(set, z); len(head) != i {
			t.Errorf("%v has %d before it, want %d", z, len(head), i)
		}
	}
	if head := asPublished.headSet(set, splitAtHyphen("/l/x-2-0000000000")); len(head) != 3 {
		t.Errorf("%d before one that is not in the set, want 3", len(head))
	}
}
