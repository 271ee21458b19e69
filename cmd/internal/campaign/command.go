package campaign

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

	at *net.TCPAddr // of --listen
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
	l := &leader{dir: dir, id: plan.digest[:12], plan: plan, known: known, slots: s.Workers, status: Status{State: Running},
		say: func(text string) { line.Above(func() { fmt.Fprintln(c.Stderr, text) }) }}
	if before := dir.address(); before != "" && !strings.HasSuffix(before, "/"+l.id) {
		return fmt.Errorf("%s has a campaign of another plan, or of another build of this program: name another folder by --dir", dir)
	}
	if err := s.secure(l); err != nil {
		return err
	}
	units := fmt.Sprint(plan.Units(), " units")
	if plan.Units() == 0 {
		units = fmt.Sprintf("as many units as %v have time for", time.Duration(plan.Duration))
	}
	fmt.Fprintf(c.Stdout, "Campaign %s (digest %.12s), in %s: %d jobs, %s\n", plan.Name, plan.digest, dir, len(plan.list), units)
	report, err := s.lead(c, l, line)
	line.End()
	switch {
	case c.Err() != nil && errors.Is(err, context.Cause(c)):
		fmt.Fprintf(c.Stderr, "Stopped. To go on: %s %s\n", c.Self, strings.Join(c.Args, " "))
		return console.VerdictError(console.ExitUnknown)
	case err != nil:
		return err
	}
	return l.end(c, report, nights(s.Nights))
}

// secure makes the server, the token and the certificate of the campaign, or takes those that are given.
func (s *startCmd) secure(l *leader) (err error) {
	if s.at, err = net.ResolveTCPAddr("tcp", s.Listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if s.at.IP == nil {
		s.at.IP = net.IPv6unspecified
	}
	if s.NATS != "" {
		l.access = access{url: s.NATS, tokenFile: s.TokenFile}
		return nil
	}
	at := *s.at
	if before, err := url.Parse(l.dir.address()); err == nil && at.Port == 0 { // where workers find it again
		at.Port, _ = strconv.Atoi(before.Port())
		if free, err := net.ListenTCP("tcp", &at); err != nil {
			at.Port = 0
		} else {
			free.Close()
		}
	}
	e := &embedded{dir: string(l.dir), host: at.IP.String(), port: at.Port}
	if e.token, err = l.dir.token(s.TokenFile); err != nil {
		return err
	}
	if !at.IP.IsLoopback() || s.TLSCert != "" {
		load := l.dir.certificate
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
func (s *startCmd) lead(ctx context.Context, l *leader, line *console.Line) (*Report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel(nil)
	l.opened = func() {
		if err := s.announce(l); err != nil {
			cancel(err)
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
	closePage, err := s.page(l)
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
	return report, err
}

// announce says how workers join.
func (s *startCmd) announce(l *leader) error {
	address, token := s.NATS+"/"+l.id, s.TokenFile
	if l.server != nil {
		address, token = l.server.url()+"/"+l.id, cmp.Or(s.TokenFile, l.dir.path(tokenName))
	}
	command := "torture campaign work " + address
	if token != "" {
		command += " --token-file " + token
	}
	if l.server != nil && l.server.secure != nil {
		command += " --ca " + cmp.Or(s.TLSCert, l.dir.path(certName))
	}
	l.say("More workers: " + command)
	return wholefile.Write(l.dir.path(addressName), []byte(address+"\n"))
}

// work works for the campaign in this process.
func (l *leader) work(ctx context.Context, slots int) error {
	nc, err := l.access.dial(ctx, time.Minute)
	if err != nil {
		return err
	}
	defer nc.Close()
	q, plan, err := join(ctx, nc, l.id)
	if err != nil {
		return err
	}
	return work(ctx, q, plan, slots)
}

// page serves the page: at the port after that of --listen, or any.
func (s *startCmd) page(l *leader) (close func(), err error) {
	at := *s.at
	if at.Port > 0 {
		at.Port++
	}
	e := cmp.Or(l.server, &embedded{})
	address, close, err := servePage(&at, e.secure, e.token, l.handler())
	if err != nil {
		return nil, fmt.Errorf("the page did not start: %w", err)
	}
	l.say("Page: " + address)
	return close, nil
}

// String says in a line how far a campaign is.
func (s Status) String() string {
	units := strings.TrimSuffix(fmt.Sprintf("%d of %d", s.Done, s.Units), " of 0")
	text := fmt.Sprintf("%s: %s units, %d unknown, %d episodes, %d failures, %d workers", s.State, units, s.Unknown, s.Episodes, s.failures(), s.there())
	if s.State == Concluding {
		text += fmt.Sprintf(", %d of %d jobs minimised", s.Concluded, len(s.Jobs))
	}
	if s.Problem != "" {
		text += "; the coordinator has a problem: " + s.Problem
	}
	return text
}

// end remembers the failures, writes the report, and ends with the exit status of the verdict.
func (l *leader) end(c *console.Context, r *Report, remember nights) (err error) {
	l.set(func(s *Status) { s.State = Ended })
	v := view{Status: l.now(), Report: r}
	if remember != "" {
		if v.Nights, err = remember.record(r, v.Status.Began); err != nil {
			return fmt.Errorf("the failures are not remembered: %w; fix that, and start again", err)
		}
	}
	if err := errors.Join(v.save(l.dir.path(reportName)), l.writeStatus()); err != nil {
		return fmt.Errorf("the report cannot be written: %w; fix that, and start again", err)
	}
	err = r.tell(c)
	printNights(c.Stdout, v.Nights)
	fmt.Fprintf(c.Stdout, "Report: %s\n", filepath.Join(l.dir.path(reportName), "index.html"))
	return err
}

// tell prints what was found: the story of the likely cause of each job, a line for each job, and the verdict, with whose
// exit status it ends.
func (r *Report) tell(c *console.Context) error {
	for _, j := range r.Jobs {
		for i, f := range j.broken() {
			if i == 0 {
				fmt.Fprintf(c.Stdout, "%v\n\n%s\n\n", j.Job, strings.TrimRight(f.Story, "\n"))
				continue
			}
			fmt.Fprintf(c.Stdout, "also %s, in %d of %d episodes: %s\n", f.Property, f.Times, j.Episodes, strings.SplitN(f.Message, "\n", 2)[0])
		}
	}
	for _, k := range r.Again {
		fmt.Fprintf(c.Stdout, "known failure %s: %s\n", k.ID, k.Outcome())
	}
	for _, j := range r.Jobs {
		fmt.Fprintln(c.Stdout, console.Wrap(j.String(), console.Columns))
	}
	for _, reason := range r.Reasons() {
		fmt.Fprintln(c.Stdout, console.Wrap(reason, console.Columns))
	}
	fmt.Fprintf(c.Stdout, "Verdict: %s\n", r.Verdict())
	if status := console.Exits[r.Verdict()]; status != console.ExitOK {
		return console.VerdictError(status)
	}
	return nil
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
		wholefile.WriteBy(filepath.Join(dir, reportJSON), func(w io.Writer) error {
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

// reportJSON is the file of a report that torture campaign report reads.
const reportJSON = "report.json"

// workCmd works for a campaign.
type workCmd struct {
	URL     string `arg:"" help:"The campaign's address, as the coordinator prints it."`
	Workers int    `help:"How many units to run at a time. Default: one for each processor." placeholder:"N"`

	TokenFile string `help:"A copy of the coordinator's file DIR/token." placeholder:"FILE" type:"path"`
	CA        string `name:"ca" help:"A copy of the server's certificate, DIR/cert.pem." placeholder:"FILE" type:"path"`
}

// Run works until the campaign ends.
func (w *workCmd) Run(c *console.Context) error {
	u, err := url.Parse(w.URL)
	if err != nil {
		return errors.New("the address of the campaign is not a URL")
	}
	id := strings.Trim(u.Path, "/")
	u.Path = ""
	nc, err := access{url: u.String(), tokenFile: w.TokenFile, ca: w.CA}.dial(c, workerPatience)
	if err != nil {
		return err
	}
	defer nc.Close()
	q, plan, err := join(c, nc, id)
	for began := time.Now(); err != nil && !errors.Is(err, errRefused); q, plan, err = join(c, nc, id) {
		if time.Since(began) > workerPatience || !pause(c, time.Second) {
			return err
		}
	}
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

// readIn reads a JSON file of a campaign's folder.
func readIn(dir, name, missing string, to any) error {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %s", dir, missing)
	}
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	return err
}

// statusCmd says how far a campaign is.
type statusCmd struct {
	Where string `arg:"" help:"The campaign's folder."`
	JSON  bool   `name:"json" help:"Print the status as JSON."`
}

// Run prints what the coordinator has said last.
func (s *statusCmd) Run(c *console.Context) error {
	now := Status{}
	err := readIn(s.Where, statusName, "there is no campaign", &now)
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
}

// Run prints the report, and ends with the exit status of the verdict.
func (r *reportCmd) Run(c *console.Context) error {
	report := &Report{}
	if err := readIn(filepath.Join(r.Where, reportName), reportJSON, "there is no report: torture campaign status says how far the campaign is", report); err != nil {
		return err
	}
	return report.tell(c)
}
