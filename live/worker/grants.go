package worker

import (
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/operations"
)

// Grants counts what a history says was granted: a lock, a permit, the leadership. It lasts as long as a
// session, so it is judged only as far as that is known.
type Grants struct {
	All    int
	Judged int
	// Blind are those of clients that reached their servers in one session all the time, and do not say in which.
	Blind int
}

// Notes of grants that are not judged.
const (
	blindGrant = "granted in a session that is not known, though its client had the same one all the time: not judged"
	vagueGrant = "granted in a session that had changed or ended meanwhile: not judged"
)

// Add counts an operation of a history.
func (g *Grants) Add(o linearizability.Operation) {
	switch role := operations.Of(o.Op).Role; {
	case o.Note == blindGrant:
		g.All++
		g.Blind++
	case o.Note == vagueGrant:
		g.All++
	case grants(o) && o.Outcome == linearizability.OK:
		g.All++
		g.Judged++
	case role == operations.Release && o.Note == operations.VagueEnd:
		g.Judged--
	}
}

// grants reports whether an operation that is carried out grants something. Those of kinds without a model are in no
// table.
func grants(o linearizability.Operation) bool {
	k := operations.Of(o.Op)
	return k.Role == operations.Grant && !(k.Tries && o.Result.IsNull()) || slices.Contains([]string{"claim", "join", "lease", "share"}, o.Op)
}

// Unknown says why a history with these is no pass; "" if it may be one. A worker that is told of no loss knows its
// session, so one that hardly ever does has not been tested.
func (g Grants) Unknown() string {
	if 2*g.Blind <= g.All {
		return ""
	}
	return fmt.Sprintf("of %d grants %d were in a session that is not known, though the client had the same one all "+
		"the time, so that two holders would not have been noticed: the worker has to say the session with each answer",
		g.All, g.Blind)
}
