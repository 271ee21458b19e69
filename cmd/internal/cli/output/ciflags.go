package output

import (
	"fmt"
	"io"
	"os"

	"github.com/zktorture/zktorture/cmd/internal/ciformat"
	"github.com/zktorture/zktorture/internal/wholefile"
)

// CIFlags are the reports for CI services.
type CIFlags struct {
	JUnit string `name:"junit" placeholder:"FILE" help:"Write the verdicts as JUnit XML, with the story of each failure. Overwrites FILE."`
}

// Wanted reports whether a report is to be written.
func (f *CIFlags) Wanted() bool { return f.JUnit != "" }

// Probe fails before a long run if the report could not be written after it.
func (f *CIFlags) Probe() error {
	if f.JUnit == "" {
		return nil
	}
	file, err := os.OpenFile(f.JUnit, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return file.Close()
}

// Write writes the report.
func (f *CIFlags) Write(report ciformat.Report) error {
	if err := wholefile.WriteBy(f.JUnit, func(w io.Writer) error { return report.JUnit(w) }); err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	return nil
}
