package output

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/zktorture/zktorture/internal/ciformat"
	"github.com/zktorture/zktorture/internal/wholefile"
)

// CIFlags are the reports for CI services.
type CIFlags struct {
	JUnit   string `name:"junit" placeholder:"FILE" help:"Write the verdicts as JUnit XML, with the story of each failure. Overwrites FILE."`
	Summary string `placeholder:"FILE" help:"Append a summary in Markdown, as for the summary page of a CI job ($GITHUB_STEP_SUMMARY)."`
}

// ciReport is a report that is wanted.
type ciReport struct {
	flag, file string
	write      func(ciformat.Report, io.Writer) error
	append     bool
}

// reports are those that are wanted.
func (f *CIFlags) reports() []ciReport {
	all := []ciReport{
		{"--junit", f.JUnit, ciformat.Report.JUnit, false},
		{"--summary", f.Summary, ciformat.Report.Markdown, true},
	}
	return slices.DeleteFunc(all, func(r ciReport) bool { return r.file == "" })
}

// Wanted reports whether any report is to be written.
func (f *CIFlags) Wanted() bool { return len(f.reports()) > 0 }

// Probe fails before a long run if a report could not be written after it.
func (f *CIFlags) Probe() error {
	for _, r := range f.reports() {
		file, err := os.OpenFile(r.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		file.Close()
	}
	return nil
}

// Write writes the reports.
func (f *CIFlags) Write(report ciformat.Report) error {
	for _, r := range f.reports() {
		to := func(w io.Writer) error { return r.write(report, w) }
		if r.append {
			if err := appendTo(r.file, to); err != nil {
				return err
			}
		} else if err := wholefile.WriteBy(r.file, to); err != nil {
			return fmt.Errorf("%s: %w", r.flag, err)
		}
	}
	return nil
}

func appendTo(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		file.Close()
		return fmt.Errorf("%s: %w", name, err)
	}
	return file.Close()
}
