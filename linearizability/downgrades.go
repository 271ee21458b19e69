package linearizability

// downgrades knows which holds of writers were perhaps downgraded, by a downgrade of unknown outcome. If
// the process has asked for a reader's hold besides, nobody can tell which of the two it gives back when
// it gives back a reader's: then either may have ended, or still last.
type downgrades struct {
	lost   map[int32]bool   // holds with a downgrade of unknown outcome
	second map[holder]int32 // a hold that is perhaps the reader's, beside the one that it is taken to have
}

// downgraded notes a downgrade of a hold by somebody who then is a reader of that or, if two says that there
// are two, of another. The hold may be one that only the downgrade insists on: lent.
func (d *downgrades) downgraded(op *Operation, reader holder, hold, other int32, two, lent bool) {
	if op.Outcome == OK && !(two && lent) {
		delete(d.second, reader)
		return
	}
	if d.lost == nil {
		d.lost, d.second = make(map[int32]bool), make(map[holder]int32)
	}
	d.lost[hold] = d.lost[hold] || op.Outcome == Unknown
	if two {
		d.second[reader] = other
	}
}

// granted notes a grant to somebody who has a hold still, as far as is known.
func (d *downgrades) granted(reader holder, hold int32) {
	if d.lost[hold] {
		d.second[reader] = hold
	}
}

// other returns the hold that a release is perhaps about instead of the one that it is taken to be about.
func (d *downgrades) other(reader holder, hold int32) (other int32, either bool) {
	other, either = d.second[reader]
	return other, either && other != hold
}
