// Generate measures and writes files in results/. The others say by which command they were measured.
//
//	go run ./results/generate zoo | judging | certificates | foreign | served | foreigngo | identities | changes
//	go run ./results/generate million [KIND | KIND:RECIPE ...]
//	go run ./results/generate mutants [REPORT]
//	go run ./results/generate judge [SECTION ...]
//	go run ./results/generate search [STRATEGY ...]
//	go run ./results/generate faster [COMMIT]
//	go run ./results/generate confirmed [ID ...]
//
// It runs from the top of the repository. Every figure is measured by the run that writes it, and
// each file names the command that made it. Exit status 0: all expected results were measured
// (every animal found, no violation by a correct recipe); 1: a result differs, as its file says; 2:
// an error.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/internal/resource/memory"
)

// errUnexpected is the error of a measurement with an unexpected result.
var errUnexpected = errors.New("not what is promised")

// A measurement returns the data of its template. Unexpected results are written too.
type measurement func(context.Context) (any, error)

// report is a file of results/, or a section of one, with its measurement.
type report struct {
	name    string
	measure measurement
}

var reports = []report{
	{"zoo", measureZoo},
	{"judging", measureJudging},
	{"certificates", measureCertificates},
	{"foreign", measureForeign},
	{"served", measureServed},
	{"foreigngo", measureForeignGo},
	{"identities", measureIdentities},
	{"changes", measureChanges},
}

// withArguments are the commands that take arguments.
var withArguments = map[string]func(context.Context, []string) error{
	"million": measureMillions, "mutants": measureMutants, "judge": measureJudge, "search": measureSearch,
	"faster": measureFaster, "confirmed": measureConfirmed,
}

func main() {
	memory.RelaxGC()
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
	i := slices.IndexFunc(reports, func(r report) bool { return len(args) == 1 && args[0] == r.name })
	if i < 0 {
		return fmt.Errorf("%q cannot be measured: there are %s, million, mutants, judge, search, faster, confirmed",
			strings.Join(args, " "), strings.Join(reportNames(reports), ", "))
	}
	return write(ctx, reports[i].name, reports[i].measure)
}

func reportNames(all []report) (names []string) {
	for _, r := range all {
		names = append(names, r.name)
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
