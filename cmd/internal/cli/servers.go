package cli

import (
	"bufio"
	_ "embed" // embeds the layout
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/story/index"
	"github.com/zktorture/zktorture/workload"
)

//go:embed servers.html
var serversLayout string

var serversTemplate = template.Must(template.New("servers.html").Funcs(template.FuncMap{"took": took, "after": func(s live.ServerStrike) int64 { return s.Well - s.At }}).Parse(serversLayout))

// serversRun is what the folder of a run on servers says of the servers. Moments are nanoseconds since the run began.
type serversRun struct {
	Begin   index.Begin
	Verdict string // ok, violation or unknown; "" if the run has not ended
	Reason  string
	Strikes map[string]int // how often each fault has struck
	// RecoveryS is the longest that clients needed to reach servers after the faults of a round, in seconds.
	RecoveryS float64
	Skipped   []string            // properties that are not checked on real servers
	Servers   []live.ServerStrike // faults of servers
	Aways     []live.Away         // times when no server answered, without a fault
	Latencies []latency           // by operation
	Lost      int                 // episodes in which clients lost a connection without a fault
	Missing   []string            // what could not be read, and why
}

// latency is how long the operations of one name took, by whether a server had a fault meanwhile.
type latency struct {
	Op         string
	Well, Hurt figures
	Unknown    int // operations whose outcome is unknown
	durations  [2][]int64
}

// figures are those of operations that were answered, in nanoseconds.
type figures struct {
	Count         int
	P50, P99, Max int64
}

// serversSection is the part of a run's page about its servers; empty if the run was simulated.
func serversSection(dir string, begin index.Begin) template.HTML {
	if begin.Backend == "sim" || begin.Backend == "wire" {
		return ""
	}
	var b strings.Builder
	if err := serversTemplate.Execute(&b, readServersRun(dir, begin)); err != nil {
		return template.HTML(template.HTMLEscapeString(err.Error()))
	}
	return template.HTML(b.String())
}

// readServersRun reads what is in the folder of a run, which may be going on or have been killed.
func readServersRun(dir string, begin index.Begin) *serversRun {
	r := &serversRun{Begin: begin}
	read := func(name, without string, from func(*os.File) error) {
		file, err := os.Open(filepath.Join(dir, name))
		if err == nil {
			defer file.Close()
			err = from(file)
		}
		switch {
		case errors.Is(err, os.ErrNotExist):
			r.Missing = append(r.Missing, fmt.Sprintf("there is no %s: %s", name, without))
		case err != nil:
			r.Missing = append(r.Missing, fmt.Sprintf("%s can be read in part only: %v", name, err))
		}
	}
	read(output.ResultName, "the run goes on, or was killed", r.readResult)
	read(output.StrikesName, "it is not known when faults struck", r.readStrikes)
	read(index.HistoryName, "latencies are not known", r.readHistory)
	return r
}

func (r *serversRun) readResult(file *os.File) error {
	var s struct {
		Verdict, Reason string
		NotJudged       []string       `json:"not_judged"`
		Faults          map[string]int `json:"faults"`
		RecoveryS       float64        `json:"recovery_s"`
		Lost            int
	}
	err := json.NewDecoder(file).Decode(&s)
	r.Verdict, r.Reason, r.Skipped, r.Strikes, r.RecoveryS = s.Verdict, s.Reason, s.NotJudged, s.Faults, s.RecoveryS
	r.Lost = s.Lost
	return err
}

func (r *serversRun) readStrikes(file *os.File) error {
	for lines := bufio.NewScanner(file); ; {
		if !lines.Scan() {
			return lines.Err()
		}
		var client live.Strike
		var server live.ServerStrike
		var away live.Away
		err := errors.Join(json.Unmarshal(lines.Bytes(), &client), json.Unmarshal(lines.Bytes(), &server),
			json.Unmarshal(lines.Bytes(), &away))
		switch {
		case err != nil:
			return err
		case away.Away:
			r.Aways = append(r.Aways, away)
		case client.Client == 0 && server.At > 0:
			r.Servers = append(r.Servers, server)
		}
	}
}

// readHistory takes the latencies from the rounds that are complete.
func (r *serversRun) readHistory(file *os.File) error {
	whole, _, err := index.WholeRounds(file)
	if err != nil {
		return err
	}
	return r.latencies(whole)
}

func (r *serversRun) latencies(history io.Reader) error {
	all := map[string]*latency{}
	h, err := histories.Read(history)
	if err != nil {
		return err
	}
	for _, o := range h {
		l := all[o.Op]
		if l == nil {
			l = &latency{Op: o.Op}
			all[o.Op] = l
		}
		switch {
		case o.Outcome == linearizability.Unknown:
			l.Unknown++
		case r.hurt(o.Call, o.Return):
			l.durations[1] = append(l.durations[1], o.Return-o.Call)
		default:
			l.durations[0] = append(l.durations[0], o.Return-o.Call)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		l := all[name]
		l.Well, l.Hurt = figuresOf(l.durations[0]), figuresOf(l.durations[1])
		r.Latencies = append(r.Latencies, *l)
	}
	return nil
}

// hurt reports whether a server had a fault in a part of the run, or not all servers were well again, or all were away.
func (r *serversRun) hurt(from, to int64) bool {
	during := func(at, well int64) bool { return at <= to && (well == 0 || well >= from) }
	return slices.ContainsFunc(r.Servers, func(s live.ServerStrike) bool { return during(s.At, s.Well) }) ||
		slices.ContainsFunc(r.Aways, func(a live.Away) bool { return during(a.At, a.Well) })
}

func figuresOf(durations []int64) figures {
	n := len(durations)
	if n == 0 {
		return figures{}
	}
	slices.Sort(durations)
	quantile := func(share float64) int64 { return durations[max(int(math.Ceil(share*float64(n)))-1, 0)] }
	return figures{n, quantile(.5), quantile(.99), durations[n-1]}
}

// Says is the sentence that answers how the servers fared.
func (r *serversRun) Says() string {
	servers, worst := "this run hurt no server", int64(0)
	for _, s := range r.Servers {
		if s.Well == 0 {
			return fmt.Sprintf("the servers were not seen well again after the %v of %s", s.Kind, s.Whom)
		}
		worst = max(worst, s.Well-s.At)
		servers = fmt.Sprintf("%d faults of servers, and all servers were well again at most %s after each began", len(r.Servers), took(worst))
	}
	if len(r.Aways) > 0 {
		servers += "; by themselves " + r.away()
	}
	if r.Lost > 0 {
		servers += "; " + output.LostLine(r.Lost)
	}
	if r.Reason != "" {
		return r.Reason + "; " + servers
	}
	return servers
}

// away says for how long the servers were away by themselves.
func (r *serversRun) away() string {
	longest := int64(0)
	for _, a := range r.Aways {
		if a.Well == 0 {
			return fmt.Sprintf("all servers went away after %s, and did not come back", took(a.At))
		}
		longest = max(longest, a.Well-a.At)
	}
	return fmt.Sprintf("all servers were away %s, for %s at most", console.Count(len(r.Aways), "time"), took(longest))
}

// Title says what was run.
func (r *serversRun) Title() string {
	recipe := r.Begin.Recipe
	if recipe == workload.Ours {
		recipe = "of zktorture"
	}
	servers := "your servers"
	if r.Begin.Nodes > 0 {
		servers = console.Count(r.Begin.Nodes, "server")
	}
	return fmt.Sprintf("%s: %s, on %s", r.Begin.Workload, recipe, servers)
}

// Recovery is that of clients.
func (r *serversRun) Recovery() string { return took(int64(r.RecoveryS * 1e9)) }

// Counts lists how often faults have struck.
func (r *serversRun) Counts() string { return output.FaultLine(r.Strikes) }

// took is a duration with three digits that matter.
func took(ns int64) string {
	d := time.Duration(ns)
	for unit := time.Duration(1); unit < time.Hour; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
	return d.String()
}
