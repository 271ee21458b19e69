package failures

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/sim"
)

// nightFormat is the first field of every file of a night. Files of other formats are not read. What
// [campaign.Identify] makes of a story belongs to the format.
const nightFormat = "zktorture night 1"

// The folders of a store.
const (
	nightsDir          = "nights"
	counterexamplesDir = "counterexamples"
)

// nightFile is what a campaign has run and seen. It says nothing of other nights, so that it never changes.
type nightFile struct {
	Format  string      `json:"format"` // "zktorture night 1"
	Name    string      `json:"name"`
	Began   time.Time   `json:"began"`
	Digest  string      `json:"digest"`
	Commit  string      `json:"commit,omitempty"`
	Go      string      `json:"go,omitempty"`
	Program string      `json:"program"`
	Units   int         `json:"units"`
	Unknown int         `json:"unknown,omitempty"` // units without a result
	Jobs    []jobFile   `json:"jobs"`
	Again   []againFile `json:"again,omitempty"`
}

// jobFile is what came of a job.
type jobFile struct {
	Job       campaign.Job  `json:"job"`
	Verdict   sim.Verdict   `json:"verdict"`
	Episodes  int           `json:"episodes"`
	Complete  bool          `json:"complete,omitempty"`   // all executions were searched
	NotJudged []string      `json:"not_judged,omitempty"` // properties, also those that are not promised
	Failures  []failureFile `json:"failures,omitempty"`
}

// failureFile is a failure that a job has found.
type failureFile struct {
	ID             string   `json:"id"`
	Shape          []string `json:"shape"`
	Property       string   `json:"property"`
	Message        string   `json:"message"`
	First          int      `json:"first"`
	Times          int      `json:"times"`
	Clients        int      `json:"clients"`
	Faults         int      `json:"faults"`
	Steps          int      `json:"steps"`
	Counterexample string   `json:"counterexample"` // the SHA-256 of its file
}

// againFile is what came of a known failure that was run again.
type againFile struct {
	ID             string `json:"id"`
	Property       string `json:"property"`
	Kind           string `json:"kind"`
	Recipe         string `json:"recipe"`
	Counterexample string `json:"counterexample"`
	campaign.Again
}

// nightName is how the file of a night is called: when it began, which sorts, and a digest of the content. So nobody
// writes over another's file, and damage is noticed.
var nightName = regexp.MustCompile(`^\d{8}T\d{6}Z-([0-9a-f]{16})\.json$`)

func (n *nightFile) encode() (name string, content []byte, err error) {
	content, err = json.MarshalIndent(n, "", " ")
	if err != nil {
		return "", nil, err
	}
	content = append(content, '\n')
	return n.Began.Format("20060102T150405Z") + "-" + digest(content)[:16] + ".json", content, nil
}

func digest(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// counterexampleName is how the file of a counterexample is called: the SHA-256 of its content.
var counterexampleName = regexp.MustCompile(`^([0-9a-f]{64})\.json$`)

// encodeCounterexample is the content of a counterexample's file, which torture replay reads, and its SHA-256. It is
// the same before and after the counterexample went through a report, in which signs of HTML are escaped.
func encodeCounterexample(c *sim.Counterexample) (sum string, content []byte, err error) {
	var out, history bytes.Buffer
	json.HTMLEscape(&history, c.History)
	written := *c
	written.History = history.Bytes()
	if err := written.Write(&out); err != nil {
		return "", nil, err
	}
	return digest(out.Bytes()), out.Bytes(), nil
}
