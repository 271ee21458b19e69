package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/coordinator"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/page"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/runner"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/worker"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
)

// startCmd leads a campaign.
type startCmd struct {
	Plan     string `arg:"" help:"The file of the plan." type:"path"`
	Dir      string `help:"The campaign's folder (default: campaign-NAME). Start again with the same folder to continue a campaign." type:"path"`
	Workers  int    `help:"How many units this process runs at a time (default: one for each processor); 0: none, other workers run all." default:"-1" placeholder:"N"`
	Listen   string `help:"The address for workers on other machines; TLS is used unless it is a loopback address (default: ${default}, a free port)." default:"127.0.0.1:0" placeholder:"HOST:PORT"`
	Page     string `help:"The address of the live page; with TLS, and the token as password, unless it is a loopback address; \"\": no page (default: ${default})." default:"127.0.0.1:0" placeholder:"HOST:PORT" empty:""`
	Failures string `help:"Record failures in this folder, and run again first those that it holds." placeholder:"DIR" type:"path"`

	TLSCert string `name:"tls-cert" help:"A certificate, instead of one that the campaign makes." placeholder:"FILE" type:"path" and:"tls"`
	TLSKey  string `name:"tls-key" help:"The key of --tls-cert." placeholder:"FILE" type:"path" and:"tls"`

	NATS        string `name:"nats" help:"Use this NATS server or cluster with JetStream, instead of starting one." placeholder:"URL"`
	Replicas    int    `help:"With --nats: the number of copies of each message in the cluster." default:"1" placeholder:"N"`
	accessFlags `group:"For --nats:"`

	AckWait time.Duration `hidden:"" help:"How long a worker may be silent before its unit is given to another." default:"15s"`
}

// Run goes on with the campaign of the folder, or begins it.
func (s *startCmd) Run(c *console.Context) error {
	folder, err := s.folder(c)
	if err != nil {
		return err
	}
	unlock, err := folder.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	plan, programs, err := s.record(c, c.Stderr, folder)
	if err != nil {
		return err
	}
	fmt.Fprint(c.Stdout, describe(plan, folder))
	l := &leading{startCmd: s, Streams: c.Streams, folder: folder, plan: plan, programs: programs, line: page.NewLine(c.Bare.Stderr)}
	report, err := l.lead(c)
	if c.Err() != nil && errors.Is(err, context.Cause(c)) {
		fmt.Fprintf(c.Stderr, "Stopped. To go on: %s\n", s.again(folder))
		return console.VerdictError(console.ExitUnknown)
	}
	if err != nil {
		return err
	}
	return l.conclude(report)
}

// folder is where the campaign is kept.
func (s *startCmd) folder(ctx context.Context) (coordinator.Folder, error) {
	if s.Dir == "" {
		p, err := campaign.ReadPlan(ctx, s.Plan)
		if err != nil {
			return "", err
		}
		s.Dir = "campaign-" + strings.Map(fileName, p.Name)
	}
	return coordinator.Folder(s.Dir), os.MkdirAll(s.Dir, 0o755)
}

// fileName leaves characters that every system has in names of files.
func fileName(r rune) rune {
	if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
		return '_'
	}
	return r
}

// again is the command that goes on.
func (s *startCmd) again(f coordinator.Folder) string {
	args := []string{"torture-campaign", "start", s.Plan, "--dir", string(f)}
	if s.Workers >= 0 {
		args = append(args, "--workers", fmt.Sprint(s.Workers))
	}
	for _, flag := range []struct{ name, value, is string }{
		{"--listen", s.Listen, "127.0.0.1:0"}, {"--failures", s.Failures, ""}, {"--nats", s.NATS, ""},
	} {
		if flag.value != flag.is {
			args = append(args, flag.name, flag.value)
		}
	}
	return strings.Join(args, " ")
}

// describe says what a recorded plan is.
func describe(p *campaign.Plan, f coordinator.Folder) string {
	var b strings.Builder
	jobs, _ := p.List() // it was read before
	units := fmt.Sprintf("%d units", p.Units())
	if p.Units() == 0 {
		units = fmt.Sprintf("as many units as %v have time for", p.Duration)
	}
	fmt.Fprintf(&b, "Campaign %s (digest %.12s), in %s: %d jobs, %s\n", p.Name, p.Digest(), f, len(jobs), units)
	for _, j := range jobs[:min(len(jobs), jobsShown)] {
		fmt.Fprintf(&b, "  %v\n", j)
	}
	if more := len(jobs) - jobsShown; more > 0 {
		fmt.Fprintf(&b, "  and %d others: see %s\n", more, f.PlanFile())
	}
	if len(p.Known) > 0 {
		fmt.Fprintf(&b, "Known failures that are run again first: %d\n", len(p.Known))
	}
	for _, o := range p.Programs {
		fmt.Fprintf(&b, "Program: %s, for %s (SHA-256 %.12s)\n", o.Build, o.System, o.SHA256)
	}
	return b.String()
}

// jobsShown is how many jobs are printed.
const jobsShown = 20

// leading is a campaign that is led by this process.
type leading struct {
	*startCmd
	console.Streams
	folder   coordinator.Folder
	plan     *campaign.Plan
	programs []runner.Program
	c        *coordinator.Coordinator

	mu   sync.Mutex // of the terminal
	line *page.Line
}

// say prints a line between drawings of the status line.
func (l *leading) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line.Clear()
	fmt.Fprintln(l.Stderr, text)
}

// lead runs the coordinator, the workers of this process and the live page.
func (l *leading) lead(ctx context.Context) (*campaign.Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel()
	config, err := l.config()
	if err != nil {
		return nil, err
	}
	config.Started = func(j coordinator.Joining) {
		l.say(howToJoin(j))
		if l.slots() > 0 {
			others.Go(func() { l.work(ctx, j) })
		}
	}
	if l.c, err = coordinator.New(config); err != nil {
		return nil, err
	}
	live := page.NewLive()
	if l.Page != "" {
		stop, err := l.servePage(live)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	others.Go(func() { l.show(ctx, live) })
	return l.c.Run(ctx)
}

func (l *leading) config() (coordinator.Config, error) {
	c := coordinator.Config{
		Folder: l.folder, Plan: l.plan, Listen: l.Listen, Say: l.say,
		Engine: engine.Settings{AckWait: l.AckWait, Replicas: l.Replicas},
	}
	if l.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(l.TLSCert, l.TLSKey)
		if err != nil {
			return c, err
		}
		c.TLS = &pair
	}
	if l.NATS != "" {
		access, _, err := l.to(l.NATS)
		if err != nil {
			return c, err
		}
		c.NATS = &access
	}
	return c, nil
}

// slots is how many units this process runs at a time.
func (l *leading) slots() int {
	if l.Workers < 0 {
		return runtime.GOMAXPROCS(0)
	}
	return l.Workers
}

// work works for the campaign in this process.
func (l *leading) work(ctx context.Context, j coordinator.Joining) {
	nc, err := j.Access.Dial(ctx, time.Minute)
	if err == nil {
		defer nc.Close()
		err = worker.Work(ctx, nc, j.ID, workerConfig(l.slots(), l.plan, l.programs, l.folder.PlanFile(), l.say))
	}
	if err != nil && ctx.Err() == nil {
		l.say("the workers of this process have stopped: " + err.Error())
	}
}

// workerConfig is a worker that runs units by these programs.
func workerConfig(
	slots int, plan *campaign.Plan, programs []runner.Program, file string, say func(string),
) worker.Config {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	config := worker.Config{
		Name: fmt.Sprintf("%s-%d", host, os.Getpid()), Slots: slots, Plan: plan, Say: say,
		Runner: func() worker.Runner {
			return runner.New(runner.Config{Plan: plan, File: file, Programs: programs})
		},
		Killed: func(err error) bool { return runner.ClassOf(err) == runner.Killed },
		Fatal:  func(err error) bool { return runner.ClassOf(err) == runner.NoProgram },
		Crash:  runner.CrashOf,
	}
	config.Build, config.System = programs[0].Build, programs[0].System
	return config
}

// show shows how far the campaign is, every second.
func (l *leading) show(ctx context.Context, live *page.Live) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		s := l.c.Status()
		live.Observe(s)
		l.mu.Lock()
		l.line.Show(s)
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			l.mu.Lock()
			l.line.Clear()
			l.mu.Unlock()
			return
		case <-tick.C:
		}
	}
}

// howToJoin says how workers of other machines join, without the token itself.
func howToJoin(j coordinator.Joining) string {
	command := []string{"torture-campaign work", j.URL}
	if j.TokenFile != "" {
		command = append(command, "--token-file", j.TokenFile)
	}
	if j.Creds != "" {
		command = append(command, "--creds", j.Creds)
	}
	if j.Fingerprint != "" {
		command = append(command, "--fingerprint", j.Fingerprint)
	}
	if j.CA != "" {
		command = append(command, "--ca", j.CA)
	}
	return "More workers: " + strings.Join(slices.Clip(command), " ")
}

// reportFolder is where the report is written.
func reportFolder(f coordinator.Folder) string { return filepath.Join(string(f), "report") }
