package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/failures"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/page"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/internal/wholefile"
)

// conclude writes what the campaign found, and ends with the exit status of its verdict.
func (l *leading) conclude(report *campaign.Report) error {
	outcome := page.Outcome{Report: report, Status: l.c.Status()}
	forgot := l.compare(&outcome)
	err := writeOutcome(reportFolder(l.folder), outcome)
	if err != nil {
		return fmt.Errorf("the report cannot be written: %w; fix that, then continue with: %s", err, l.again(l.folder))
	}
	fmt.Fprintf(l.Stdout, "Report: %s\n", filepath.Join(reportFolder(l.folder), "index.html"))
	if forgot != nil {
		return fmt.Errorf("the failures are not recorded: %w; fix that, then continue with: %s", forgot, l.again(l.folder))
	}
	return verdict(l.Stdout, outcome)
}

// compare records the failures, and adds to the outcome how it differs from earlier nights.
func (l *leading) compare(o *page.Outcome) (err error) {
	if l.Failures == "" {
		return nil
	}
	if o.Night, err = l.remember(o.Report); err == nil {
		fmt.Fprint(l.Stdout, o.Night.Text(100))
	}
	return err
}

// verdict prints the verdict, and why it is not better.
func verdict(out io.Writer, o page.Outcome) error {
	j := o.Judge()
	for _, reason := range j.Reasons() {
		fmt.Fprintln(out, reason)
	}
	fmt.Fprintf(out, "Verdict: %s\n", j.Verdict)
	if code := j.Verdict.Exit(); code != 0 {
		return console.VerdictError(code)
	}
	return nil
}

// remember records the failures in the store.
func (l *leading) remember(report *campaign.Report) (*failures.Night, error) {
	store, err := failures.Open(l.Failures)
	if err != nil {
		return nil, err
	}
	return store.Record(report, failures.Meta{
		Began: l.c.Status().Began, Commit: commit(), Go: runtime.Version(), Program: "torture",
	})
}

// commit is that of this program, if it was built from one.
func commit() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// writeOutcome writes the report into a folder: the page, JUnit, Markdown, and the values that they are made of.
func writeOutcome(dir string, o page.Outcome) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return errors.Join(
		o.Write(dir, page.Stories),
		wholefile.WriteBy(filepath.Join(dir, "junit.xml"), o.JUnit),
		wholefile.WriteBy(filepath.Join(dir, "report.md"), o.Markdown),
		writeJSON(filepath.Join(dir, "report.json"), o.Report),
		writeJSON(filepath.Join(dir, outcomeFile), o),
	)
}

// outcomeFile has all that is known of a campaign that has ended.
const outcomeFile = "outcome.json"

func writeJSON(name string, value any) error {
	return wholefile.WriteBy(name, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "\t")
		return e.Encode(value)
	})
}
