// Generate measures what the files in results/ say and writes them.
//
//	go run ./results/generate all | bugs | speed | ensemble | zoo | judging | zoolive | confirmed | kills
//	go run ./results/generate bug W1
//	go run ./results/generate million [KIND | KIND:RECIPE ...]
//	go run ./results/generate mutants [REPORT]
//	go run ./results/generate judge [SECTION ...]
//	go run ./results/generate soak
//	go run ./results/generate foreign
//
// It is run from the top of the repository. Every figure is measured by the run that writes it,
// and each file names the command that made it. Exit status 0: all that was expected was measured
// (every bug found, no violation by a correct recipe); 1: something else came out, which the file
// says; 2: it could not be done.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/zktorture/zktorture/internal/gc"
)

// errUnexpected is the error of a measurement that could be made but did not come out as it must.
var errUnexpected = errors.New("not what is promised")

// reports are the files of results/ with what measures them.
var reports = []struct {
	name    string
	measure func(context.Context, *page) error
}{
	{"bugs", measureBugs},
	{"speed", measureSpeed},
	{"ensemble", measureEnsemble},
	{"zoo", measureZoo},
	{"judging", measureJudging},
	{"zoolive", measureZooLive},
	{"confirmed", measureConfirmed},
	{"pause", measurePause},
	{"kills", measureKills},
}

func main() {
	gc.Relax()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "generate:", err)
	if errors.Is(err, errUnexpected) {
		os.Exit(1)
	}
	os.Exit(2)
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "bug":
		return huntOne(ctx, args[1])
	case len(args) > 0 && args[0] == "million":
		return measureMillions(ctx, args[1:])
	case len(args) == 1 && args[0] == "soak":
		return write(ctx, "soak", measureSoak)
	case len(args) == 1 && args[0] == "foreign":
		return write(ctx, "foreign", measureForeign)
	case len(args) > 0 && args[0] == "mutants":
		return measureMutants(ctx, args[1:])
	case len(args) > 0 && args[0] == "judge":
		return measureJudge(ctx, args[1:])
	case len(args) != 1:
		return fmt.Errorf("say what to measure: all, %s, million, mutants, judge, or bug ID", strings.Join(names(), ", "))
	}
	var problems []error
	known := false
	for _, r := range reports {
		if args[0] != r.name && args[0] != "all" {
			continue
		}
		known = true
		problems = append(problems, write(ctx, r.name, r.measure))
	}
	if !known {
		return fmt.Errorf("nothing is called %q: there are all, %s, million, mutants, judge, and bug ID", args[0], strings.Join(names(), ", "))
	}
	return errors.Join(problems...)
}

func names() (names []string) {
	for _, r := range reports {
		names = append(names, r.name)
	}
	return names
}

// write makes one file. A measurement that came out unexpectedly is written too.
func write(ctx context.Context, name string, measure func(context.Context, *page) error) error {
	p := newPage(name)
	problem := measure(ctx, p)
	if problem != nil && !errors.Is(problem, errUnexpected) {
		return fmt.Errorf("results/%s.md is not written: %w", name, problem)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("results/%s.md is not written: interrupted", name)
	}
	if err := os.WriteFile("results/"+name+".md", p.bytes(), 0o644); err != nil {
		return err
	}
	if problem != nil {
		return fmt.Errorf("results/%s.md: %w", name, problem)
	}
	return nil
}
