package workload

import (
	"fmt"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/sim"
)

// judgingWrites has a lock workload judge what the guarded resource accepted, too: no write of a holder
// after one of a later holder (zombie-write). No lock can promise that alone; with tokens that the
// resource checks it follows from the order of the tokens.
func judgingWrites() LockOption { return func(e *lockEpisode) { e.overrun = true } }

// zombieWrites finds a write that was accepted from a hold that had ended before another began, of
// which a write had been accepted already.
func (r *resource) zombieWrites(v *View, holds []interval) []sim.Violation {
	of := map[*hold]interval{}
	for _, iv := range holds {
		of[iv.op.Data.(*hold)] = iv
	}
	for i, late := range r.writes {
		for _, early := range r.writes[:i] {
			a, b := of[late.hold], of[early.hold]
			if !late.accepted || !early.accepted || a.op == nil || b.op == nil || a.end >= b.start {
				continue
			}
			return []sim.Violation{{Property: "zombie-write", Ops: []*sim.Op{a.op, b.op}, Message: fmt.Sprintf(
				"the resource accepts a write of %s, whose hold was over at %s (%s), although it has accepted one of %s, who holds the lock from %s on",
				Who(a.op), v.Moment(a.end), a.reason(), Who(b.op), v.Moment(b.start))}}
		}
	}
	return nil
}

func (iv interval) reason() string {
	if iv.cut != "" {
		return iv.cut
	}
	return "it was released"
}

// client is a client library, as recipes' names mention it.
type client struct {
	flavour fakezk.Flavour
	name    string
}

var (
	goClient    = client{fakezk.FlavourGo, "go-zookeeper"}
	javaClient  = client{fakezk.FlavourJava, "Java's client"}
	kazooClient = client{fakezk.FlavourKazoo, "kazoo"}
)
