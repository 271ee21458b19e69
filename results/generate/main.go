// Generate measures and writes the files in results/.
//
//	go run ./results/generate all | bugs | speed | ensemble | zoo | judging | zoolive | confirmed | kills
//	go run ./results/generate bug W1
//	go run ./results/generate million [KIND | KIND:RECIPE ...]
//	go run ./results/generate mutants [REPORT]
//	go run ./results/generate judge [SECTION ...]
//	go run ./results/generate search [STRATEGY ...]
//	go run ./results/generate soak | certificates
//	go run ./results/generate faster [zoo]
//	go run ./results/generate foreign | foreigngo | served
//	go run ./results/generate wire | identities
//
// It runs from the top of the repository. Every figure is measured by the run that writes it, and each file names the
// command that made it. Exit status 0: all expected results were measured (every bug found, no violation by a correct
// recipe); 1: a result differs, as its file says; 2: an error.
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

// errUnexpected is the error of a measurement with an unexpected result.
var errUnexpected = errors.New("not what is promised")

// A measurement returns the data of its template. Unexpected results are written too.
type measurement func(context.Context) (any, error)

// report is a file of results/ with its measurement.
type report struct {
	name    string
	measure measurement
	alone   bool // not part of all
}

var reports = []report{
	{"bugs", measureBugs, false},
	{"speed", measureSpeed, false},
	{"ensemble", measureEnsemble, false},
	{"zoo", measureZoo, false},
	{"judging", measureJudging, false},
	{"zoolive", measureZooLive, false},
	{"confirmed", measureConfirmed, false},
	{"pause", measurePause, false},
	{"kills", measureKills, false},
	{"certificates", measureCertificates, true},
	{"soak", measureSoak, true},
	{"foreign", measureForeign, true},
	{"wire", measureWire, true},
	{"served", measureServed, true},
	{"foreigngo", measureForeignGo, true},
	{"identities", measureIdentities, true},
}

// withArguments are the commands that take arguments.
var withArguments = map[string]func(context.Context, []string) error{
	"bug": huntOne, "million": measureMillions, "mutants": measureMutants, "judge": measureJudge, "search": measureSearch,
	"faster": measureFaster,
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
	if len(args) > 0 && withArguments[args[0]] != nil {
		return withArguments[args[0]](ctx, args[1:])
	}
	var problems []error
	for _, r := range reports {
		if len(args) == 1 && (args[0] == r.name || args[0] == "all" && !r.alone) {
			problems = append(problems, write(ctx, r.name, r.measure))
		}
	}
	if problems == nil {
		return fmt.Errorf("%q cannot be measured: there are all, %s, million, mutants, judge, search, faster, and bug ID",
			strings.Join(args, " "), strings.Join(names(reports, func(r report) string { return r.name }), ", "))
	}
	return errors.Join(problems...)
}

// names are the names of some things.
func names[T any](all []T, name func(T) string) (names []string) {
	for _, one := range all {
		names = append(names, name(one))
	}
	return names
}

// write makes one file.
func write(ctx context.Context, name string, measure measurement) error {
	data, problem := measure(ctx)
	if err := fatal(problem, ctx.Err()); err != nil {
		return fmt.Errorf("results/%s.md is not written: %w", name, err)
	}
	text, err := fill(name, data)
	if err != nil {
		return err
	}
	head := fmt.Sprintf("<!-- Made by `go run ./results/generate %s`. Do not edit. -->\n\n", name)
	if err := os.WriteFile("results/"+name+".md", []byte(head+measured(name)+text), 0o644); err != nil {
		return err
	}
	if problem != nil {
		return fmt.Errorf("results/%s.md: %w", name, problem)
	}
	return nil
}

// fatal is the error that keeps a text from being written: a failed or interrupted measurement.
func fatal(problem, interrupted error) error {
	if errors.Is(problem, errUnexpected) {
		problem = nil
	}
	return errors.Join(problem, interrupted)
}
