package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/zktorture/zktorture/sim/tally"
)

// Unit is a piece of a campaign: some episodes of a job, a share of a search, or a known failure that is run again.
// Those come first.
type Unit struct {
	Number   int `json:"number"`
	Job      int `json:"job"`   // its place in the plan's list of jobs; -1: a known failure
	Known    int `json:"known"` // its place in the plan's list of known failures; -1: a piece of a job
	From     int `json:"from"`  // the first episode, or the number of the share
	Episodes int `json:"episodes"`
}

// UnitFormat is the first field of the result of every unit.
const UnitFormat = "zktorture unit 1"

// UnitResult is what came of a unit.
type UnitResult struct {
	Format  string      `json:"format"` // [UnitFormat]
	Plan    string      `json:"plan"`   // the digest of the plan
	Unit    Unit        `json:"unit"`
	Part    *tally.Part `json:"part,omitempty"`    // of a job
	Again   *Again      `json:"again,omitempty"`   // of a known failure
	Unknown string      `json:"unknown,omitempty"` // why there is no result

	Done `json:"done"` // differs when a unit is run again
}

// Done is how a unit was done. It is not compared.
type Done struct {
	Worker  string   `json:"worker,omitempty"`
	Took    Duration `json:"took,omitempty"`
	Program string   `json:"program,omitempty"` // the SHA-256 of the program file
}

// Again is what came of a known failure that was run again.
type Again struct {
	Breaks  bool   `json:"breaks"` // it breaks its property still
	Same    bool   `json:"same"`   // and the run is the same, step by step
	Message string `json:"message,omitempty"`
	Problem string `json:"problem,omitempty"` // why it could not be run, as a recipe that is there no more
}

// Digest covers what has to be equal when a unit is run again.
type Digest [sha256.Size]byte

// MarshalText writes it in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText reads what [Digest.MarshalText] writes.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != 2*len(d) {
		return fmt.Errorf("%q is not a SHA-256", text)
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// Digest returns the SHA-256 of the part, or of what came of the known failure, as JSON. It is the same before and
// after the result went through a file.
func (r *UnitResult) Digest() (Digest, error) {
	text, err := json.Marshal(struct {
		Part  *tally.Part
		Again *Again
	}{r.Part, r.Again})
	return sha256.Sum256(text), err
}
