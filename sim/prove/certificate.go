// Package prove brings strategy exhaustive, which searches all executions, to programs that import it, and has
// certificates: what a search saw that found nothing, so that it can be checked.
package prove

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/internal/version"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/internal/bound"
	"github.com/zktorture/zktorture/sim/prove/certify"
	_ "github.com/zktorture/zktorture/sim/prove/internal/search"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
)

// Certificate is the file of a search that came to its end and found nothing: what was searched, by which rules, and
// what was seen, so that another run of the same program can check it. [Certificate.Check] does.
type Certificate struct {
	Format   string `json:"format"` // [CertificateFormat]
	Workload string `json:"workload"`
	Recipe   string `json:"recipe"`

	// The bound.
	Clients int    `json:"clients"`         // at most so many
	Users   int    `json:"users"`           // of a client, at most
	Ops     int    `json:"ops"`             // turns of a user, at most
	Faults  string `json:"faults"`          // which of them strike in an episode …
	AtMost  int    `json:"at_most"`         // … and how often in all, at most
	Plain   bool   `json:"plain,omitempty"` // only the simplest plan of the workload

	// What was seen. The digest is of all states and does not depend on their order.
	Verdict sim.Verdict `json:"verdict"`
	Extent  string      `json:"extent"`
	States  int         `json:"states"`
	Ends    int         `json:"ends"` // in which faults are healed, and the rest follows
	Runs    int         `json:"runs"`
	Digest  string      `json:"digest"`

	Reductions []string `json:"reductions"`
	NotCovered []string `json:"not_covered"`
	NotJudged  []string `json:"not_judged,omitempty"`
	Waived     []string `json:"waived,omitempty"`
	Build      string   `json:"build"` // see [version.Build]
	Seal       string   `json:"seal"`  // SHA-256 of the file without its seal
}

// CertificateFormat is the first field of every certificate.
const CertificateFormat = "zktorture certificate 1"

// AllReductions are the rules by which a search leaves out what cannot show anything new.
const AllReductions = bound.AllReductions

// ByJudges are those that go by what a kind says of its judge.
var ByJudges = [...]bound.Reductions{bound.ReduceReturns, bound.ReduceOwn, bound.ReduceEnds}

// NotCovered is what no search covers, whatever its bound.
var NotCovered = []string{
	"orders in which the Go scheduler runs goroutines that one step wakes together, and select with several ready cases",
	"lengths of time other than those that faults and the recipe's own timers have; timers that are due in one " +
		"millisecond fire together, within a process in the order in which they were set",
	"a reply that lies with the client while other messages are handled, but where the fault stall lets it lie: else it " +
		"is received where it is sent unless another message precedes it",
	"a request that waits for a majority (the fault quorum) and then fails, or waits for more than 20 ms: it fails at " +
		"once, or waits until there is one",
	"a client that comes back to a deposed leader (the fault deposed) that it has left",
	"an execution that goes round among equal states, as a client's that dials a server in vain again and again, until " +
		"its torture is cut off",
	"what a recipe reads elsewhere than from ZooKeeper, its timers and the workload",
	"a recipe, or a judge, that tells clients with equal plans apart by their numbers, sessions or identities",
	"a state, or a part of one, whose hash, of 64 bits, is that of another",
}

// Certify makes the certificate of a result of a search; an error if it is no ground for one.
func Certify(cfg sim.Config, r sim.Result) (*Certificate, error) {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return nil, err
	}
	if r.Verdict != sim.VerdictOK || r.Extent.Word != tally.Complete {
		return nil, fmt.Errorf("sim: no certificate: the verdict is %s, %s", r.Verdict, r.Extent)
	}
	c := &Certificate{
		Format: CertificateFormat, Workload: r.Workload, Recipe: r.Recipe, Clients: cfg.Clients, Users: cfg.Users,
		Ops: cfg.Ops, Faults: cfg.Faults.String(), AtMost: cfg.AtMost, Plain: cfg.Plain, Verdict: r.Verdict,
		Extent: r.Extent.Word, States: r.Extent.States, Ends: r.Extent.Ends, Runs: r.Extent.Runs,
		Digest: digest.Hex(r.Extent.Digest), Reductions: Texts(AllReductions &^ cfg.Without), NotCovered: NotCovered,
		NotJudged: r.NotJudged, Waived: r.Waived, Build: version.Build(),
	}
	c.Seal, err = c.seal()
	return c, err
}

func (c *Certificate) seal() (string, error) {
	bare := *c
	bare.Seal = ""
	data, err := json.Marshal(bare)
	return fmt.Sprintf("%x", sha256.Sum256(data)), err
}

// Write writes the file.
func (c *Certificate) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(c)
}

// certificateMax bounds the length of a file.
const certificateMax = 1 << 20

// ReadCertificate reads a file, and says what is wrong if it is none, or not as it was written.
func ReadCertificate(r io.Reader) (*Certificate, error) {
	data, err := io.ReadAll(io.LimitReader(r, certificateMax+1))
	if err != nil {
		return nil, err
	}
	if len(data) > certificateMax {
		return nil, fmt.Errorf("not a certificate: it is larger than %d MB", certificateMax>>20)
	}
	var c Certificate
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return nil, fmt.Errorf("not a certificate, or cut off: %w", err)
	}
	if c.Format != CertificateFormat {
		return nil, fmt.Errorf("not a certificate that this version can read: its format is %q, wanted is %q", c.Format,
			CertificateFormat)
	}
	if seal, err := c.seal(); err != nil || seal != c.Seal || len(bytes.TrimSpace(data[dec.InputOffset():])) > 0 {
		return nil, fmt.Errorf("the certificate was altered: its content does not fit its seal")
	}
	return &c, nil
}

// ErrRefuted is the error of a certificate whose search, made again, saw something else.
var ErrRefuted = errors.New("the certificate is refuted")

// Config is the search that the certificate is of.
func (c *Certificate) Config() (sim.Config, error) {
	faults, err := world.ParseFaults(c.Faults)
	if err != nil {
		return sim.Config{}, fmt.Errorf("the certificate's faults: %w", err)
	}
	cfg := sim.Config{
		Strategy: sim.Exhaustive, Clients: c.Clients, Users: c.Users, Ops: c.Ops, Faults: faults, NoFaultsAtAll: true,
		AtMost: c.AtMost, Plain: c.Plain,
	}
	switch full, err := cfg.WithDefaults(); {
	case err != nil:
		return cfg, err
	case full.Clients != c.Clients || full.Users != c.Users || full.Ops != c.Ops:
		return cfg, fmt.Errorf("not a certificate: there is no search of %s", c.Bound())
	}
	return cfg, nil
}

// Bound says in words what was searched.
func (c *Certificate) Bound() string {
	plans := "all plans"
	if c.Plain {
		plans = "the simplest plan: each user plays one part, as simply as can be"
	}
	faults := "no fault"
	if c.AtMost > 0 && c.Faults != world.NoFaults.String() {
		faults = fmt.Sprintf("at most %d of %s", c.AtMost, c.Faults)
	}
	return fmt.Sprintf("at most %d clients of %d users with %d operations each, %s, %s", c.Clients, c.Users, c.Ops, faults,
		plans)
}

// Claim is what a check of the search's steps holds it to, see package certify. It is an error in another program.
func (c *Certificate) Claim() (certify.Claim, error) {
	cfg, err := c.Config()
	return certify.Claim{
		Clients: c.Clients, Users: c.Users, Ops: c.Ops, AtMost: c.AtMost, Faults: cfg.Faults, Plain: c.Plain,
		States: c.States, Ends: c.Ends, Runs: c.Runs, Digest: c.Digest,
	}, cmp.Or(c.ofThisBuild(), err)
}

// ofThisBuild is an error of a certificate that this program cannot have made.
func (c *Certificate) ofThisBuild() error {
	switch {
	case c.Build != version.Build():
		return fmt.Errorf("the certificate is of another program (%s), and this is %s: build that one, or search "+
			"again with this one", c.Build, version.Build())
	case c.Verdict != sim.VerdictOK || c.Extent != tally.Complete:
		return fmt.Errorf("not a certificate: it is of a search that is %s, %s", c.Verdict, c.Extent)
	case !slices.Equal(c.Reductions, Texts(AllReductions)) || !slices.Equal(c.NotCovered, NotCovered):
		return errors.New("not a certificate: it does not say what this program leaves out, and what it does not cover")
	}
	return nil
}

// Check makes the search again, with the options of each choice in the other order, and compares. The error is
// ErrRefuted if it sees another thing; any other says why it could not be checked.
func (c *Certificate) Check(
	ctx context.Context, w world.Workload, atMost time.Duration, progress func(sim.Progress),
) (sim.Result, error) {
	cfg, err := c.Config()
	if err = cmp.Or(c.ofThisBuild(), err); err != nil {
		return sim.Result{}, err
	}
	cfg.Backwards, cfg.Duration, cfg.Progress = true, atMost, progress
	r, err := sim.Run(ctx, w, cfg)
	if err != nil {
		return r, err
	}
	return r, c.compare(r)
}

func (c *Certificate) compare(r sim.Result) error {
	seen := func(what string, said, saw any) error {
		if said == saw {
			return nil
		}
		return fmt.Errorf("%w: it says %s %v, and the search made again saw %v", ErrRefuted, what, said, saw)
	}
	switch {
	case len(r.Violations) > 0:
		return fmt.Errorf("%w: %s: %s", ErrRefuted, r.Violations[0].Property, r.Violations[0].Message)
	case r.Extent.Word != tally.Complete:
		return fmt.Errorf("it could not be checked: %s", r.Extent)
	}
	return errors.Join(seen("states", c.States, r.Extent.States), seen("ends", c.Ends, r.Extent.Ends),
		seen("digest", c.Digest, digest.Hex(r.Extent.Digest)), seen("verdict", c.Verdict, r.Verdict),
		seen("not judged", fmt.Sprint(c.NotJudged), fmt.Sprint(r.NotJudged)), seen("waived", fmt.Sprint(c.Waived), fmt.Sprint(r.Waived)))
}
