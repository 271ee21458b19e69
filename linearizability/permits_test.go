package linearizability

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// plainPermits says what a read/write lock and a semaphore are, as plainly as plainLock does. It is
// the grants that are held, by index, and all tokens granted. Of a read/write lock permits is 0.
type plainPermits struct {
	permits int64
	held    []int
	shared  []int // of these, the writers that have become readers
	tokens  []int
}

func (p plainPermits) apply(h History, i int) (bool, object) {
	op := h[i]
	switch {
	case op.Op == "downgrade":
		grant := p.of(h, i)
		if grant < 0 || slices.Contains(p.shared, grant) {
			return false, p
		}
		p.shared = append(slices.Clone(p.shared), grant)
		return true, p
	case op.releases():
		grant := p.of(h, i)
		if grant < 0 {
			return p.retries(h, i), p
		}
		p.held = slices.DeleteFunc(slices.Clone(p.held), func(g int) bool { return g == grant })
		return true, p
	case refused(op):
		return true, p
	case !p.room(h, op) || !p.fresh(h, op):
		return false, p
	}
	p.held, p.tokens = append(slices.Clone(p.held), i), append(slices.Clone(p.tokens), i)
	return true, p
}

// of returns the grant that operation i is about, -1 if its process holds none.
func (p plainPermits) of(h History, i int) int {
	for _, g := range p.held {
		if g < i && h[g].owner() == h[i].owner() && h[g].permits() == h[i].permits() && p.suits(h, g, i) &&
			!p.grantedBetween(h, g, i) {
			return g
		}
	}
	return -1
}

// suits tells whether operation i may be about grant g: it is a reader's if the grant is, or has
// become one before it.
func (p plainPermits) suits(h History, g, i int) bool {
	downgraded := !h[g].reads() && slices.ContainsFunc(h[g+1:i], func(op Operation) bool {
		return op.Op == "downgrade" && op.owner() == h[i].owner() && op.Outcome == OK
	})
	return h[i].reads() == (h[g].reads() || downgraded)
}

func (p plainPermits) grantedBetween(h History, g, i int) bool {
	return slices.ContainsFunc(h[g+1:i], func(op Operation) bool {
		return op.owner() == h[i].owner() && mayGrant(&op) && op.Outcome == OK && op.holder() == h[g].holder()
	})
}

func (p plainPermits) room(h History, op Operation) bool {
	sum := op.permits()
	for _, g := range p.held {
		alone := !h[g].reads() && !slices.Contains(p.shared, g)
		if p.permits == 0 && (alone || !op.reads()) {
			return false
		}
		sum += h[g].permits()
	}
	return p.permits == 0 || sum <= p.permits
}

// fresh tells whether the token of a grant is greater than it has to be.
func (p plainPermits) fresh(h History, op Operation) bool {
	for _, g := range p.tokens {
		counts := tokened(h[g]) && tokened(op) && !(op.reads() && h[g].reads())
		if counts && h[g].Result.Int() >= op.Result.Int() {
			return false
		}
	}
	return true
}

func tokened(op Operation) bool {
	return op.Result.IsInt() && !(op.tries() && op.Result == Int(0))
}

// retries is the rule of plainLock's retries, for each way of holding by itself.
func (p plainPermits) retries(h History, i int) bool {
	var part History
	for _, op := range h[:i+1] {
		if op.reads() == h[i].reads() && op.permits() == h[i].permits() && op.Op != "downgrade" {
			if op.reads() {
				op.Op = op.Op[1:]
			}
			part = append(part, op)
		}
	}
	return retries(part, len(part)-1)
}

// runPermits carries out one operation on a read/write lock, of which a reader takes one of very many
// permits and a writer all, or on a semaphore of two permits.
func (r *real) runPermits(t *rapid.T, op Operation) (Operation, bool) {
	rw, held := r.model.Name == "rwlock", r.permits[op.Client]
	switch {
	case op.Op == "downgrade" && held == writerTakes:
		r.permits[op.Client] = 1
		return op, true
	case op.Op == "downgrade", op.releases() && held == 0, rw && op.releases() && op.reads() != (held == 1):
		return op, false
	case op.releases():
		if held == 2 {
			op.Arg = Int(2)
		}
		delete(r.permits, op.Client)
		return op, true
	}
	takes := 1
	switch {
	case rw && !op.reads():
		takes = writerTakes
	case !rw && rapid.Bool().Draw(t, "two permits"):
		takes, op.Arg = 2, Int(2)
	}
	if held > 0 || !r.spare(rw, takes) {
		return op, op.tries() && held == 0
	}
	r.permits[op.Client] = takes
	r.token++
	op.Result = Int(r.token)
	return op, true
}

const writerTakes = 1000

// spare tells whether there are so many permits left.
func (r *real) spare(rw bool, takes int) bool {
	for _, held := range r.permits {
		takes += held
	}
	return takes <= map[bool]int{true: writerTakes, false: 2}[rw]
}

func TestPermitTranscripts(t *testing.T) {
	for _, m := range []Model{RWLock(), Semaphore(2)} {
		transcripts := readTranscripts(t, m.Name)
		if len(transcripts) < 10 {
			t.Fatalf("%s: only %d transcripts were found", m.Name, len(transcripts))
		}
		for _, tr := range transcripts {
			t.Run(m.Name+"/"+tr.title, func(t *testing.T) {
				got := summary(Check(m, tr.history, Options{})[0])
				reason, unknown := strings.CutPrefix(tr.want, "unknown: ")
				if got != tr.want && !(unknown && strings.HasPrefix(got, "unknown: ") &&
					strings.Contains(got, reason)) {
					t.Errorf("got %q, want %q", got, tr.want)
				}
			})
		}
	}
}

// A history too long for a search is judged by the sure holds.
func TestOverdraftInALongHistory(t *testing.T) {
	var h History
	for i := range int64(3000) {
		c := int(i % 5)
		h = append(h, Operation{Client: c, Op: "racquire", Call: 10 * i, Return: 10*i + 1},
			Operation{Client: c, Op: "rrelease", Call: 10*i + 45, Return: 10*i + 46})
	}
	h = append(h, Operation{Client: 9, Op: "acquire", Call: 15002, Return: 15003},
		Operation{Client: 9, Op: "release", Call: 15004, Return: 15005})
	if v := Check(RWLock(), h, Options{Timeout: 5 * time.Second})[0]; v.Property != "exclusion" ||
		len(v.Operations) > 12 {
		t.Errorf("%v", v)
	}
}

// simple tells whether the reference has an opinion: it does not follow a downgrade of unknown
// outcome, which testdata/rwlock.txt covers.
func simple(h History) bool {
	return !slices.ContainsFunc(h, func(op Operation) bool { return op.Op == "downgrade" && op.Outcome == Unknown })
}
