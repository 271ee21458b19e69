package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What is promised of the servers of torture serve.
const (
	servedTimes    = 3                    // as many operations a second as Apache's server
	servedStart    = 5 * time.Millisecond // at most, until clients can connect
	servedSessions = 300                  // MB at most, for 10,000 sessions with a watch each
	servedZnodes   = 500                  // MB at most, for a million znodes
)

// servedRounds is how often speeds are measured.
const servedRounds = 5

// servedSpeed is what the benchmarks of fakezk/server measure.
type servedSpeed struct {
	Version          string // of Apache's server
	Rounds, Times    int
	Pairs            []pair
	Start, StartMax  time.Duration
	Sessions, Znodes float64 // MB
	SessionsMax      int
	ZnodesMax        int
}

// pair is the speed of one client's requests at Apache's server and at the fake.
type pair struct {
	Op           string
	Under        int // way
	Apache, Fake int // operations a second
}

// Times is how many times as fast the fake is.
func (p pair) Times() float64 { return float64(p.Fake) / float64(max(p.Apache, 1)) }

func measureServedSpeed(ctx context.Context) (*servedSpeed, error) {
	version, err := serverVersion(ctx)
	if err != nil {
		return nil, err
	}
	speeds, err := runBenchmarks(ctx, "BesideApache|Start", servedRounds)
	if err != nil {
		return nil, err
	}
	memory, err := runBenchmarks(ctx, "Sessions|Znodes", 1)
	if err != nil {
		return nil, err
	}
	s := newServedSpeed(speeds + memory)
	s.Version = version
	return s, s.promised()
}

// runBenchmarks runs benchmarks of fakezk/server, and returns the lines that they print.
func runBenchmarks(ctx context.Context, names string, times int) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-timeout", "30m", "-run", "^$",
		"-bench", "^Benchmark("+names+")$", "-count", strconv.Itoa(times), "./fakezk/server")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%v: %w\n%s", cmd, err, out)
	}
	return string(out), nil
}

// benchLine is a line of a benchmark: its name without the number of processors, and its time or its last metric.
var benchLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op(?:\s+([\d.]+) MB)?$`)

// benchmarks are the measured values by name: nanoseconds, or MB.
type benchmarks map[string][]float64

func parseBenchmarks(lines string) benchmarks {
	all := benchmarks{}
	for _, m := range benchLine.FindAllStringSubmatch(lines, -1) {
		value, _ := strconv.ParseFloat(cmp.Or(m[3], m[2]), 64)
		all[m[1]] = append(all[m[1]], value)
	}
	return all
}

// median is 0 for what was not measured.
func (b benchmarks) median(name string) float64 {
	all := slices.Sorted(slices.Values(b[name]))
	if len(all) == 0 {
		return 0
	}
	return all[len(all)/2]
}

// rate is how often a second something is done; 0 if it was not measured.
func (b benchmarks) rate(name string) int {
	if took := b.median(name); took > 0 {
		return int(1e9 / took)
	}
	return 0
}

// newServedSpeed has the median of each benchmark.
func newServedSpeed(lines string) *servedSpeed {
	all := parseBenchmarks(lines)
	s := &servedSpeed{
		Rounds: servedRounds, Times: servedTimes, Start: time.Duration(all.median("Start")), StartMax: servedStart,
		Sessions: all.median("Sessions"), SessionsMax: servedSessions,
		Znodes: all.median("Znodes"), ZnodesMax: servedZnodes,
	}
	for _, op := range []string{"get", "create"} {
		for _, under := range []int{1, 32} {
			name := fmt.Sprintf("BesideApache/%s/%d/", op, under)
			s.Pairs = append(s.Pairs, pair{op, under, all.rate(name + "apache"), all.rate(name + "fake")})
		}
	}
	return s
}

// promised returns an error for what was not measured or is worse than promised.
func (s *servedSpeed) promised() error {
	var worse []string
	for _, p := range s.Pairs {
		if p.Times() < servedTimes {
			worse = append(worse, fmt.Sprintf("%s with %d under way is %.1f times as fast", p.Op, p.Under, p.Times()))
		}
	}
	within := func(what string, got, most float64) {
		if got <= 0 || got > most {
			worse = append(worse, fmt.Sprintf("%s: %g of at most %g", what, got, most))
		}
	}
	within("start (ns)", float64(s.Start), float64(servedStart))
	within("sessions (MB)", s.Sessions, servedSessions)
	within("znodes (MB)", s.Znodes, servedZnodes)
	if len(worse) > 0 {
		return fmt.Errorf("%w: %s", errUnexpected, strings.Join(worse, "; "))
	}
	return nil
}
