package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/coordinator"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/page"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/internal/wholefile"
)

// lookFlags say at which campaign to look.
type lookFlags struct {
	Where       string `arg:"" help:"The campaign's folder, or the URL of its server."`
	accessFlags `group:"The server:"`
}

// lookPatience is how long to wait for a server.
const lookPatience = 5 * time.Second

// isURL tells an address from a folder.
func isURL(where string) bool { return strings.Contains(where, "://") }

func (l *lookFlags) access() (engine.Access, string, error) {
	if isURL(l.Where) {
		return l.to(l.Where)
	}
	a, err := coordinator.Folder(l.Where).Access()
	return a, "", err
}

// dial connects to the campaign's server.
func (l *lookFlags) dial(ctx context.Context) (*engine.Campaign, *nats.Conn, error) {
	access, id, err := l.access()
	if err != nil {
		return nil, nil, err
	}
	nc, err := access.Dial(ctx, lookPatience)
	if err != nil {
		return nil, nil, err
	}
	c, err := engine.Join(ctx, nc, id)
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	return c, nc, nil
}

// statusCmd says how far a campaign is.
type statusCmd struct {
	lookFlags
	JSON bool `help:"Print the status as JSON."`
}

// Run asks the coordinator, or reads the books if there is none.
func (s *statusCmd) Run(c *console.Context) error {
	now, err := s.look(c)
	if err != nil {
		return err
	}
	if s.JSON {
		e := json.NewEncoder(c.Stdout)
		e.SetIndent("", "\t")
		return e.Encode(now)
	}
	page.NewLine(onlyWriter{c.Stdout}).Show(now)
	return nil
}

// onlyWriter hides that a writer is a terminal.
type onlyWriter struct{ io.Writer }

func (s *statusCmd) look(ctx context.Context) (now status.Status, err error) {
	if f := coordinator.Folder(s.Where); !isURL(s.Where) && !f.InUse() {
		return f.Status()
	}
	c, nc, err := s.dial(ctx)
	if err != nil {
		return now, err
	}
	defer nc.Close()
	text, err := c.Status(ctx)
	if errors.Is(err, engine.ErrNone) {
		return now, fmt.Errorf("%s has no coordinator at the moment", s.Where)
	}
	if err != nil {
		return now, err
	}
	return now, json.Unmarshal(text, &now)
}

// reportCmd says what a campaign found.
type reportCmd struct {
	lookFlags
	HTML     string `name:"html" help:"Write the page into this folder." placeholder:"DIR" type:"path"`
	Stories  int    `help:"At most this many story pages, new failures first (default: ${default})." default:"200" placeholder:"N"`
	JUnit    string `name:"junit" help:"Write JUnit XML into this file." placeholder:"FILE" type:"path"`
	Markdown string `help:"Write Markdown into this file; default: print it." placeholder:"FILE" type:"path"`
	JSON     string `name:"json" help:"Write the report as JSON into this file." placeholder:"FILE" type:"path"`
}

// Run writes what is wanted, and ends with the status of the verdict.
func (r *reportCmd) Run(c *console.Context) error {
	o, err := r.look(c)
	if err != nil {
		return err
	}
	if r.HTML != "" {
		if err := errors.Join(os.MkdirAll(r.HTML, 0o755), o.Write(r.HTML, r.Stories)); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{r.JUnit, o.JUnit}, {r.Markdown, o.Markdown},
		{r.JSON, func(w io.Writer) error { return json.NewEncoder(w).Encode(o.Report) }},
	} {
		if f.name == "" {
			continue
		}
		if err := wholefile.WriteBy(f.name, f.write); err != nil {
			return err
		}
	}
	if r.HTML+r.JUnit+r.Markdown+r.JSON == "" {
		if err := o.Markdown(c.Stdout); err != nil {
			return err
		}
	}
	return verdict(c.Stdout, o)
}

func (r *reportCmd) look(ctx context.Context) (o page.Outcome, err error) {
	if !isURL(r.Where) {
		text, err := os.ReadFile(filepath.Join(reportFolder(coordinator.Folder(r.Where)), outcomeFile))
		if errors.Is(err, fs.ErrNotExist) {
			return o, fmt.Errorf("%[1]s has no report: the campaign has not ended, see torture-campaign status %[1]s", r.Where)
		}
		if err != nil {
			return o, err
		}
		return o, json.Unmarshal(text, &o)
	}
	c, nc, err := r.dial(ctx)
	if err != nil {
		return o, err
	}
	defer nc.Close()
	text, err := c.Report(ctx)
	if errors.Is(err, engine.ErrNone) {
		return o, fmt.Errorf("there is no report: the campaign has not ended, see torture-campaign status %s", r.Where)
	}
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(text, &o.Report)
}
