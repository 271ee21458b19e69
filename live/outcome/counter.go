package outcome

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// counterResolver accounts for a number's versions.
//
// It is used only for rounds in which the number is one persistent znode, in decimal, made by a create and written
// only on condition of its version, and in which nothing else is changed but the directory, made empty, and notes
// that go along with changes of the number. Then each version was written by one request, and it is known which if no
// two requests that were not refused could have been it. Each must be one addition: what it wrote is the version
// before it and what one operation of its user adds. So no operation can have taken effect in any other way, not even
// together with another.
type counterResolver struct {
	*Requests
	dir      string
	path     string // the number's
	ops      []*world.Op
	seen     map[int32]string // what was read, by version
	versions []written
}

// written is the request that wrote a version.
type written struct {
	at         int // in the log
	version    int32
	sum, delta int64
	paid       bool // an operation of outcome ok has reported it
}

// resolveCounter resolves what it can of the additions to the number in a directory.
func resolveCounter(dir string, ops []*world.Op, o *Requests) map[int64]workload.Resolved {
	r := &counterResolver{Requests: o, dir: dir, ops: ops, seen: map[int32]string{}}
	r.find()
	if !r.exclusive() || !r.read() || !r.chain() || !r.pay() {
		return nil
	}
	return ascribe(o, open(ops, func(op *world.Op) bool { return op.Name == "add" }), r.left())
}

// find finds the znode of the number: where a request was to write one. (Were there several, the
// others would be something else that was changed.)
func (r *counterResolver) find() {
	for _, e := range r.requests() {
		if e.changes() && e.kind != requestDelete && isNumber(e.data) {
			r.path = e.path
		}
	}
}

func isNumber(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// writes reports whether a request writes the number.
func (r *counterResolver) writes(e *logEntry) bool {
	return (e.kind == requestCreate || e.kind == requestSet) && r.path != "" && e.path == r.path && isNumber(e.data)
}

// exclusive reports whether nothing was changed but the number, notes and the directory, and nothing else is there.
func (r *counterResolver) exclusive() bool {
	notes, ok := r.notes(r.writes)
	if !ok {
		return false
	}
	for _, e := range r.requests() {
		note := e.kind == requestSet && notes[e.path]
		plain := e.kind == requestCreate && e.plain() || e.kind == requestSet && e.version >= 0
		if e.changes() && !note && !(plain && r.writes(e)) && !blank(e, r.dir, notes) {
			return false
		}
	}
	return !slices.ContainsFunc(r.paths(), func(p string) bool { return p != r.path && !notes[p] && !above(p, r.dir) })
}

// read collects what is known of the number's versions by readers.
func (r *counterResolver) read() bool {
	for _, e := range r.requests() {
		if e.kind == requestRead && e.path == r.path && !r.see(e.version, e.data) {
			return false
		}
	}
	z, there := r.tree[r.path]
	return !there || r.see(z.Stat.Version, z.Data)
}

func (r *counterResolver) see(version int32, data string) bool {
	before, known := r.seen[version]
	r.seen[version] = data
	return !known || before == data
}

// chain finds the request that wrote each version.
func (r *counterResolver) chain() bool {
	last := int32(-1)
	if z, there := r.tree[r.path]; there {
		last = z.Stat.Version
	}
	before, first := int64(0), int32(0)
	if r.bare() {
		first = 1
	}
	for v := first; v <= last; v++ {
		at, ok := r.writer(v)
		if !ok {
			return false
		}
		sum, _ := strconv.ParseInt(r.log[at].data, 10, 64)
		r.versions = append(r.versions, written{at: at, version: v, sum: sum, delta: sum - before})
		before = sum
	}
	return !r.answeredAfter(last)
}

// bare reports whether the number's znode is the directory itself, which was there, without data,
// before a number was written to it: its version 0 is no addition's.
func (r *counterResolver) bare() bool {
	made := slices.ContainsFunc(r.log, func(e logEntry) bool {
		return e.kind == requestCreate && e.changes() && r.writes(&e)
	})
	return r.path == r.dir && !made && r.seen[0] == ""
}

// makes is the version that a request writes, if it is carried out.
func makes(e *logEntry) int32 {
	if e.kind == requestCreate {
		return 0
	}
	return e.version + 1
}

// writer returns the request that wrote a version, if there is one only that can have.
func (r *counterResolver) writer(version int32) (at int, ok bool) {
	sure, maybe := []int{}, []int{}
	for i, e := range r.requests() {
		if !e.changes() || !r.writes(e) || makes(e) != version {
			continue
		}
		if e.answer == done {
			sure = append(sure, i)
		} else if data, known := r.seen[version]; !known || data == e.data {
			maybe = append(maybe, i)
		}
	}
	if len(sure) > 0 {
		maybe = sure
	}
	if len(maybe) != 1 {
		return 0, false
	}
	data, known := r.seen[version]
	return maybe[0], !known || data == r.log[maybe[0]].data
}

// answeredAfter reports whether a write was carried out that the tree does not show.
func (r *counterResolver) answeredAfter(last int32) bool {
	for _, e := range r.requests() {
		if e.changes() && r.writes(e) && e.answer == done && makes(e) > last {
			return true
		}
	}
	return false
}

// pay finds for each addition of outcome ok the version that it wrote.
func (r *counterResolver) pay() bool {
	began := r.beginnings()
	for _, op := range r.ops {
		if op.Name == "add" && op.Outcome == world.OK && !r.payFor(op, began[op.Number]) {
			return false
		}
	}
	return true
}

func (r *counterResolver) payFor(op *world.Op, start cause) bool {
	for i := range r.versions {
		w := &r.versions[i]
		asked := r.log[w.at].handle == start.handle && w.at > start.at
		if !w.paid && asked && op.Arg == strconv.FormatInt(w.delta, 10) && op.Result == strconv.FormatInt(w.sum, 10) {
			w.paid = true
			return true
		}
	}
	return false
}

// left are the versions that no operation has reported.
func (r *counterResolver) left() (effects []effect) {
	for _, w := range r.versions {
		if w.paid {
			continue
		}
		e := &r.log[w.at]
		effects = append(effects, effect{
			arg:   strconv.FormatInt(w.delta, 10),
			value: strconv.FormatInt(w.sum, 10),
			by:    []cause{r.cause(w.at)},
			why: fmt.Sprintf("only a request sent during this operation can have written version %d of %s, %s",
				w.version, r.path, e.data),
		})
	}
	return effects
}
