package torturecli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/zktorture/zktorture/sim"
)

type certifyCmd struct {
	File     string        `arg:"" help:"A certificate that torture run --strategy exhaustive --certificate has written."`
	Duration time.Duration `help:"The longest time for the search. Default: no limit." range:">0"`
}

// Run executes the command: the status is 1 if the certificate is refuted, and 2 if it is none, of another program, or
// could not be checked.
func (k *certifyCmd) Run(c *commandContext) error {
	certificate, err := k.read()
	if err != nil {
		return fmt.Errorf("%s: %w", k.File, err)
	}
	w, err := findWorkload(certificate.Workload, certificate.Recipe)
	if err != nil {
		return fmt.Errorf("%s: %w", k.File, err)
	}
	bar := newBar(c, false, 0, k.Duration)
	r, err := certificate.Check(c, w, k.Duration, bar.show)
	bar.line.end()
	switch {
	case errors.Is(err, sim.ErrRefuted):
		fmt.Fprintln(c.out, wrap(fmt.Sprintf("%s: %v", k.File, err), columns))
		return verdictError(exitViolation)
	case err != nil:
		return fmt.Errorf("%s: %w", k.File, err)
	}
	fmt.Fprintf(c.out, "%s holds: %s (%s), %s\n", k.File, r.Workload, r.Recipe, certificate.Bound())
	fmt.Fprintln(c.out, wrap(r.Extent.String(), columns))
	return nil
}

func (k *certifyCmd) read() (*sim.Certificate, error) {
	file, err := os.Open(k.File)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return sim.ReadCertificate(file)
}
