package picture

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/cli/judges"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
)

// dataOf are the data of porcupine's page.
var dataOf = regexp.MustCompile(`(?m)^ *const data = (.*)$`)

// words are those of an operation below: an argument may have several.
var words = regexp.MustCompile(`"[^"]*"|\S+`)

// Of every model porcupine's picture has the operations that cannot be ordered, how far they can, and the rule that breaks.
func TestPicture(t *testing.T) {
	for model, c := range map[string]struct {
		operations string // op arg result outcome call return, of a client each
		far        string // the last state that an order leads to
	}{
		"queue": {`offer "a" null ok 1 2; offer "b" null unknown 3 null; poll null "b" ok 5 6`,
			"client 1 offer a [1..2]\nclient 2 offer b (unknown) [3..]\n"},
		"priorityqueue": {`offer "1:a" null ok 1 2; offer "0:b" null ok 3 4; poll null "1:a" ok 5 6; poll null "0:b" ok 7 8`,
			"client 1 offer 1:a [1..2]\nclient 2 offer 0:b [3..4]\n"},
		"lock":          {"acquire null 1 ok 1 2; acquire null 2 ok 3 4", "client 1 acquire → 1 [1..2]\n"},
		"election":      {"elected null 1 ok 1 2; elected null 2 ok 3 4", "client 1 elected → 1 [1..2]\n"},
		"semaphore":     {"acquire null 1 ok 1 2; acquire null 2 ok 3 4", "client 1 acquire → 1 [1..2]\n"},
		"rwlock":        {"acquire null 1 ok 1 2; acquire null 2 ok 3 4", "client 1 acquire → 1 [1..2]\n"},
		"counter":       {"add 1 1 ok 1 2; add 1 1 ok 3 4", "client 1 add 1 → 1 [1..2]\n"},
		"barrier":       {"shut null null ok 1 2; wait null null ok 3 4", "client 1 shut [1..2]\n"},
		"doublebarrier": {"enter null null ok 1 2", "client 1 enter [1..2]\n"},
		"lockingqueue":  {`offer "a" null ok 1 2; claim null "a" ok 3 4; claim null "a" ok 5 6`, ""},
		"membership":    {`join "a" null ok 1 2; members null "" ok 3 4`, ""},
		"registry":      {`register "a" null ok 1 2; list null "" ok 3 4`, ""},
		"twophase":      {`begin "t a" null ok 1 2; outcome "t" "commit" ok 3 4; outcome "t" "abort" ok 5 6`, ""},
	} {
		m, err := linearizability.ByName(model, linearizability.Parameters{Parties: 2, Permits: 1})
		if judges.Knows(model) {
			m.Name, err = model, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		var lines strings.Builder
		for i, o := range strings.Split(c.operations, "; ") {
			f := words.FindAllString(o, -1)
			fmt.Fprintf(&lines, `{"client":%d,"op":%q,"arg":%s,"result":%s,"outcome":%q,"call":%s,"return":%s}`+"\n", i+1, f[0], f[1], f[2], f[3], f[4], f[5])
		}
		h, err := histories.Read(strings.NewReader(lines.String()))
		if err != nil {
			t.Fatal(err)
		}
		var v linearizability.Verdict
		if judges.Knows(model) {
			v = judges.Check(model, h, time.Minute)[0]
		} else {
			v = linearizability.Check(m, h, linearizability.Options{})[0]
		}
		draw, err := drawn(m, v)
		if err != nil {
			t.Errorf("%s: %v: %v", model, v, err)
			continue
		}
		var page strings.Builder
		if err := draw(&page); err != nil {
			t.Fatal(err)
		}
		var data struct {
			Partitions []struct {
				History               []struct{ Description, OriginalEnd string }
				PartialLinearizations [][]struct{ StateDescription string }
			}
			Annotations []struct{ Tag, Description string }
		}
		if !strings.Contains(page.String(), fmt.Sprintf("<title>violation: a %s breaks %s</title>", model, v.Property)) {
			t.Errorf("%s: the page has no title of ours", model)
		}
		found := dataOf.FindStringSubmatch(page.String())
		if found == nil {
			t.Fatalf("%s: the page has no data: %.300s", model, page.String())
		}
		if err := json.Unmarshal([]byte(found[1]), &data); err != nil {
			t.Fatal(err)
		}
		drawn, far := map[string]bool{}, ""
		for _, o := range data.Partitions[0].History {
			drawn[o.Description] = true
			if len(o.OriginalEnd) > 1 {
				t.Errorf("%s: %s ends at %s", model, o.Description, o.OriginalEnd)
			}
		}
		for _, o := range v.Operations {
			if !drawn[o.String()] {
				t.Errorf("%s: the picture lacks %v", model, o)
			}
		}
		for _, part := range data.Partitions[0].PartialLinearizations {
			far = part[len(part)-1].StateDescription
		}
		if a := data.Annotations; far != c.far || len(a) != 1 || a[0].Tag != v.Property || a[0].Description != v.Rule {
			t.Errorf("%s: the operations can be ordered up to %q, want %q; noted is %+v", model, far, c.far, data.Annotations)
		}
	}
}

// Where there is no picture the reason is said.
func TestNoPicture(t *testing.T) {
	m, err := linearizability.ByName("queue")
	if err != nil {
		t.Fatal(err)
	}
	offer := linearizability.Operation{Op: "offer", Arg: linearizability.Str("a"), Call: 1, Return: 2}
	many := make(linearizability.History, pictureMax+1)
	for why, h := range map[string]linearizability.History{"are not known": nil, "at most 200": many, "did not find": {offer}} {
		draw, err := drawn(m, linearizability.Verdict{Outcome: linearizability.Violation, Operations: h})
		if err == nil {
			err = draw(io.Discard)
		}
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%d operations: %v, want %s", len(h), err, why)
		}
	}
}
