package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/cli/output"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/sim/prove"
)

type certifyCmd struct {
	File     string        `arg:"" help:"A certificate that torture run --strategy exhaustive --certificate has written."`
	Duration time.Duration `help:"The longest time for the search. Default: no limit." range:">0"`
}

// Run executes the command: the status is 1 if the certificate is refuted, and 2 if it is none, of another program, or
// could not be checked.
func (k *certifyCmd) Run(c *console.Context) error {
	certificate, err := k.read()
	if err != nil {
		return fmt.Errorf("%s: %w", k.File, err)
	}
	w, err := worker.Find(certificate.Workload, certificate.Recipe)
	if err != nil {
		return fmt.Errorf("%s: %w", k.File, err)
	}
	bar := output.NewBar(c, false, 0, k.Duration)
	r, err := certificate.Check(c, w, k.Duration, bar.Show)
	bar.Line.End()
	switch {
	case errors.Is(err, prove.ErrRefuted):
		fmt.Fprintln(c.Stdout, console.Wrap(fmt.Sprintf("%s: %v", k.File, err), console.Columns))
		return console.VerdictError(console.ExitViolation)
	case err != nil:
		return fmt.Errorf("%s: %w", k.File, err)
	}
	fmt.Fprintf(c.Stdout, "%s holds: %s (%s), %s\n", k.File, r.Workload, r.Recipe, certificate.Bound())
	fmt.Fprintln(c.Stdout, console.Wrap(r.Extent.String(), console.Columns))
	return nil
}

func (k *certifyCmd) read() (*prove.Certificate, error) {
	file, err := os.Open(k.File)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return prove.ReadCertificate(file)
}
