package campaign

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/internal/resource/memory"
	"github.com/zktorture/zktorture/internal/version"
	"github.com/zktorture/zktorture/internal/wholefile"
)

// Command is torture campaign.
type Command struct {
	Start  startCmd  `cmd:"" help:"Start a campaign, with workers in this process, or continue the one in its folder."`
	Work   workCmd   `cmd:"" help:"Run units for a campaign that another machine has started."`
	Status statusCmd `cmd:"" help:"Print the progress of a campaign."`
	Report reportCmd `cmd:"" help:"Report what a campaign found that has ended."`
	Part   partCmd   `cmd:"" hidden:"" help:"Run units for a worker, which asks by standard input."`
}

// startCmd leads a campaign.
type startCmd struct {
	Plan    string `arg:"" help:"The file of the plan." type:"path"`
	Dir     string `help:"The campaign's folder. Start again with the same folder to continue. Default: campaign-NAME." type:"path"`
	Listen  string `help:"The address for workers on other machines; the page is at the next port. Beyond loopback both use TLS. Default: ${default}, free ports." default:"127.0.0.1:0" placeholder:"HOST:PORT"`
	NATS    string `name:"nats" help:"Use this NATS server with JetStream, instead of one in this process." placeholder:"URL"`
	Workers int    `help:"How many units this process runs at a time; 0: none, other workers run all. Default: one for each processor." default:"-1" placeholder:"N"`
	Nights  string `help:"Remember failures in this folder from night to night, and first run those again that are open." placeholder:"DIR" type:"path"`

	TokenFile string `help:"The token that everybody needs, instead of one that is made, DIR/token; with --nats, that of the server." placeholder:"FILE" type:"path"`
	TLSCert   string `name:"tls-cert" help:"A certificate, instead of one that is made, DIR/cert.pem." placeholder:"FILE" type:"path" and:"tls"`
	TLSKey    string `name:"tls-key" help:"The key of --tls-cert." placeholder:"FILE" type:"path" and:"tls"`
}

// Run leads the campaign to its end. Its exit status is that of the verdict.
func (s *startCmd) Run(c *console.Context) error {
	memory.RelaxGC()
	plan, err := ReadPlan(c, s.Plan)
	if err == nil {
		plan, err = plan.Record(version.Sum(), nil)
	}
	if err != nil {
		return err
	}
	dir := folder(cmp.Or(s.Dir, "campaign-"+output.Flat(plan.Name)))
	unlock, err := dir.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if s.Workers < 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	line := console.NewLine(c, false)
	defer line.End()
	known, err := nights(s.Nights).known()
	if err != nil {
		return fmt.Errorf("--nights: %w", err)
	}
	l := &leader{id: plan.Digest()[:12], plan: plan, known: known, slots: s.Workers,
		say: func(text string) { line.Above(func() { fmt.Fprintln(c.Stderr, text) }) }}
	if err := s.secure(l, dir); err != nil {
		return err
	}
	fmt.Fprint(c.Stdout, plan.describe(dir))
	report, err := s.lead(c, l, dir, line)
	line.End()
	switch {
	case c.Err() != nil && errors.Is(err, context.Cause(c)):
		fmt.Fprintf(c.Stderr, "Stopped. To go on: %s %s\n", c.Self, strings.Join(c.Args, " "))
		return console.VerdictError(console.ExitUnknown)
	case err != nil:
		return err
	}
	return l.end(c, report, dir, nights(s.Nights))
}

// describe says what a plan stands for.
func (p *Plan) describe(dir folder) string {
	units := fmt.Sprintf("%d units", p.Units())
	if p.Units() == 0 {
		units = fmt.Sprintf("as many units as %v have time for", time.Duration(p.Duration))
	}
	text := fmt.Sprintf("Campaign %s (digest %.12s), in %s: %d jobs, %s\n", p.Name, p.Digest(), dir, len(p.list), units)
	for i, j := range p.list {
		if i == 20 {
			return text + fmt.Sprintf("  and %d others\n", len(p.list)-i)
		}
		text += fmt.Sprintf("  %v\n", j)
	}
	return text
}

// secure makes the server, the token and the certificate of the campaign, or takes those that are given.
func (s *startCmd) secure(l *leader, dir folder) error {
	host, service, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	port, err := strconv.Atoi(service)
	if err != nil {
		return fmt.Errorf("--listen: the port %q is not a number", service)
	}
	if s.NATS != "" {
		l.access = access{url: s.NATS, tokenFile: s.TokenFile}
		return nil
	}
	if before, err := url.Parse(dir.address().URL); err == nil && port == 0 { // where workers find it again
		port, _ = strconv.Atoi(before.Port())
		if free, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))); err != nil {
			port = 0
		} else {
			free.Close()
		}
	}
	e := &embedded{dir: string(dir), host: host, port: port}
	if e.token, err = dir.token(s.TokenFile); err != nil {
		return err
	}
	if !loopback(host) || s.TLSCert != "" {
		load := dir.certificate
		if s.TLSCert != "" {
			load = func() (tls.Certificate, error) { return tls.LoadX509KeyPair(s.TLSCert, s.TLSKey) }
		}
		cert, err := load()
		if err != nil {
			return err
		}
		e.secure = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}
	}
	l.server, l.access = e, access{url: "nats://within", within: e}
	return nil
}

// lead runs the coordinator, the workers of this process and the page.
func (s *startCmd) lead(ctx context.Context, l *leader, dir folder, line *console.Line) (*Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel()
	var failed error
	l.opened = func() {
		if failed = s.announce(l, dir); failed != nil {
			cancel()
			return
		}
		if s.Workers > 0 {
			others.Go(func() {
				if err := l.work(ctx, s.Workers); err != nil && !errors.Is(err, errEnded) && ctx.Err() == nil {
					l.say("The workers of this process have stopped: " + err.Error())
				}
			})
		}
	}
	closePage, err := s.page(l, dir)
	if err != nil {
		return nil, err
	}
	defer closePage()
	others.Go(func() {
		for pause(ctx, time.Second) {
			now := l.now()
			line.Show(now.String(), int64(now.Done), int64(now.Units))
		}
	})
	report, err := l.lead(ctx)
	if err == nil && l.server != nil {
		for began := time.Now(); l.now().there() > 0 && time.Since(began) < 3*beatEvery; { // until they have seen that it has ended
			pause(ctx, beatEvery/4)
		}
		l.server.close()
	}
	return report, cmp.Or(failed, err)
}

// announce says how workers join.
func (s *startCmd) announce(l *leader, dir folder) error {
	a := address{URL: s.NATS + "/" + l.id, TokenFile: s.TokenFile}
	if l.server != nil {
		a = address{URL: l.server.url() + "/" + l.id, TokenFile: cmp.Or(s.TokenFile, dir.path(tokenName)), Own: true}
		if l.server.secure != nil {
			a.CA = cmp.Or(s.TLSCert, dir.path(certName))
		}
	}
	command := "torture campaign work " + a.URL
	if a.TokenFile != "" {
		command += " --token-file " + a.TokenFile
	}
	if a.CA != "" {
		command += " --ca " + a.CA
	}
	l.say("More workers: " + command)
	return dir.setAddress(a)
}

// work works for the campaign in this process.
func (l *leader) work(ctx context.Context, slots int) error {
	nc, err := l.access.dial(ctx, time.Minute)
	if err != nil {
		return err
	}
	defer nc.Close()
	q, err := joinQueue(ctx, nc, l.id)
	if err != nil {
		return err
	}
	return work(ctx, q, l.plan, slots)
}

// page serves the page: at the port after that of --listen, or any.
func (s *startCmd) page(l *leader, dir folder) (close func(), err error) {
	host, service, _ := net.SplitHostPort(s.Listen) // it was read before
	port, _ := strconv.Atoi(service)
	if port > 0 {
		port++
	}
	e := cmp.Or(l.server, &embedded{})
	address, close, err := servePage(host, port, e.secure, e.token, l.handler())
	if err == nil {
		l.say("Page: " + address)
	}
	return close, err
}

// String says in a line how far a campaign is.
func (s Status) String() string {
	units := fmt.Sprint(s.Done)
	if s.Units > 0 {
		units += fmt.Sprintf(" of %d", s.Units)
	}
	text := fmt.Sprintf("%s: %s units, %d episodes, %d workers", s.State, units, s.Episodes, s.there())
	if s.State == Concluding {
		text += fmt.Sprintf(", %d of %d jobs minimised", s.Concluded, len(s.Jobs))
	}
	if n := s.failures(); n > 0 {
		text += fmt.Sprintf(", %d failures", n)
	}
	if s.Unknown > 0 {
		text += fmt.Sprintf(", %d units unknown", s.Unknown)
	}
	if s.Problem != "" {
		text += "; the coordinator has a problem: " + s.Problem
	}
	return text
}

// end remembers the failures, writes the report, and ends with the exit status of the verdict.
func (l *leader) end(c *console.Context, r *Report, dir folder, remember nights) error {
	v := view{Status: l.now(), Report: r}
	v.Status.State = Ended
	if remember != "" {
		var err error
		if v.Nights, err = remember.record(r, v.Status.Began); err != nil {
			return fmt.Errorf("the failures are not remembered: %w; fix that, and start again", err)
		}
	}
	if err := v.save(dir.path(reportName)); err != nil {
		return fmt.Errorf("the report cannot be written: %w; fix that, and start again", err)
	}
	r.print(c.Stdout)
	printNights(c.Stdout, v.Nights)
	fmt.Fprintf(c.Stdout, "Report: %s\n", filepath.Join(dir.path(reportName), "index.html"))
	return r.exit(c)
}

// exit prints the verdict, and ends with its exit status.
func (r *Report) exit(c *console.Context) error {
	fmt.Fprintf(c.Stdout, "Verdict: %s\n", r.Verdict())
	if status := console.Exits[r.Verdict()]; status != console.ExitOK {
		return console.VerdictError(status)
	}
	return nil
}

// print prints what was found: the story of the likely cause of each job, and a line for each job.
func (r *Report) print(w io.Writer) {
	for _, j := range r.Jobs {
		for i, f := range j.broken() {
			if i == 0 {
				fmt.Fprintf(w, "%v\n\n%s\n\n", j.Job, strings.TrimRight(f.Story, "\n"))
				continue
			}
			fmt.Fprintf(w, "also %s, in %d of %d episodes: %s\n", f.Property, f.Times, j.Episodes, strings.SplitN(f.Message, "\n", 2)[0])
		}
	}
	for _, k := range r.Again {
		fmt.Fprintf(w, "known failure %s: %s\n", k.ID, k.Outcome())
	}
	for _, j := range r.Jobs {
		fmt.Fprintln(w, console.Wrap(j.String(), console.Columns))
	}
	for _, reason := range r.Reasons() {
		fmt.Fprintln(w, console.Wrap(reason, console.Columns))
	}
}

// examplesName is the folder of counterexamples within that of a report.
const examplesName = "counterexamples"

// exampleFile is the name of the file of a counterexample.
func exampleFile(j JobReport, f Failure) string {
	return fmt.Sprintf("%s-%s-%s.json", j.Job.Kind, output.Flat(fmt.Sprintf("%s %s %d", j.Job.Recipe, j.Job.Strategy, j.Job.Seed)), f.ID)
}

// save writes a report into a folder: the page, JUnit, JSON, and counterexamples.
func (v view) save(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, examplesName), 0o755); err != nil {
		return err
	}
	errs := []error{
		wholefile.WriteBy(filepath.Join(dir, "index.html"), v.write),
		wholefile.WriteBy(filepath.Join(dir, "junit.xml"), v.Report.ci().JUnit),
		wholefile.WriteBy(filepath.Join(dir, "report.json"), func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", " ")
			return e.Encode(v.Report)
		}),
	}
	for _, j := range v.Report.Jobs {
		for _, f := range j.broken() {
			errs = append(errs, wholefile.WriteBy(filepath.Join(dir, examplesName, exampleFile(j, f)), f.Counterexample.Write))
		}
	}
	return errors.Join(errs...)
}

// join takes part in the campaign of an address, whose path may be its id.
func join(ctx context.Context, to access, address string, patience time.Duration) (*queue, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address of the server is not a URL")
	}
	id := strings.Trim(u.Path, "/")
	u.Path = ""
	to.url = u.String()
	nc, err := to.dial(ctx, patience)
	if err != nil {
		return nil, err
	}
	for began := time.Now(); ; pause(ctx, time.Second) {
		q, err := joinQueue(ctx, nc, id)
		if err == nil {
			return q, nil
		}
		if time.Since(began) > patience || ctx.Err() != nil {
			nc.Close()
			return nil, err
		}
	}
}

// workCmd works for a campaign.
type workCmd struct {
	URL     string `arg:"" help:"The server's address, as the coordinator prints it."`
	Workers int    `help:"How many units to run at a time. Default: one for each processor." placeholder:"N"`

	TokenFile string `help:"A copy of the coordinator's file DIR/token." placeholder:"FILE" type:"path"`
	CA        string `name:"ca" help:"A copy of the coordinator's certificate, DIR/cert.pem, or of the authority that has signed it." placeholder:"FILE" type:"path"`
}

// Run works until the campaign ends.
func (w *workCmd) Run(c *console.Context) error {
	q, err := join(c, access{tokenFile: w.TokenFile, ca: w.CA}, w.URL, workerPatience)
	if err != nil {
		return err
	}
	defer q.nc.Close()
	plan, err := planOf(c, q)
	if err != nil {
		return err
	}
	if w.Workers < 1 {
		w.Workers = runtime.GOMAXPROCS(0)
	}
	if err := work(c, q, plan, w.Workers); !errors.Is(err, errEnded) {
		return err
	}
	fmt.Fprintln(c.Stderr, "The campaign has ended.")
	return nil
}

// lookAt reads files of the campaign in a folder, whether its coordinator runs or not.
func lookAt(ctx context.Context, where string, look func(*queue) error) error {
	dir := folder(where)
	a := dir.address()
	if a.URL == "" {
		return fmt.Errorf("%s: %w", where, errNone)
	}
	to := access{tokenFile: a.TokenFile, ca: a.CA}
	if a.Own {
		if unlock, err := dir.lock(); err == nil { // its coordinator does not run
			defer unlock()
			to.within, a.URL = &embedded{dir: where}, "nats://within"
			if err := to.within.start(); err != nil {
				return err
			}
			defer to.within.close()
		}
	}
	q, err := join(ctx, to, a.URL, 5*time.Second)
	if err != nil {
		return err
	}
	defer q.nc.Close()
	return look(q)
}

// statusCmd says how far a campaign is.
type statusCmd struct {
	Where string `arg:"" help:"The campaign's folder."`
	JSON  bool   `name:"json" help:"Print the status as JSON."`
}

// Run prints what the coordinator has said last.
func (s *statusCmd) Run(c *console.Context) error {
	now := Status{}
	err := lookAt(c, s.Where, func(q *queue) error {
		there, err := q.load(c, statusFile, &now)
		if !there {
			err = cmp.Or(err, fmt.Errorf("%s: its coordinator has not said anything yet", s.Where))
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case s.JSON:
		return console.WriteJSON(c.Stdout, now)
	}
	fmt.Fprintf(c.Stdout, "%s, at %s\n", now, now.Now.Format(time.DateTime))
	return nil
}

// reportCmd says what a campaign found.
type reportCmd struct {
	Where string `arg:"" help:"The campaign's folder."`
	Out   string `help:"Write the page, JUnit, JSON and counterexamples into this folder." placeholder:"DIR" type:"path"`
}

// Run prints the report, and ends with the exit status of the verdict.
func (r *reportCmd) Run(c *console.Context) error {
	v := view{Report: &Report{}}
	err := lookAt(c, r.Where, func(q *queue) error {
		there, err := q.load(c, reportFile, v.Report)
		if !there {
			err = cmp.Or(err, fmt.Errorf("%[1]s has no report: the campaign has not ended, see torture campaign status %[1]s", r.Where))
		}
		if err == nil {
			_, err = q.load(c, statusFile, &v.Status)
		}
		return err
	})
	if err != nil {
		return err
	}
	if r.Out != "" {
		if err := v.save(r.Out); err != nil {
			return err
		}
	}
	v.Report.print(c.Stdout)
	return v.Report.exit(c)
}
