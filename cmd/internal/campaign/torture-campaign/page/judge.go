package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
	"github.com/zktorture/zktorture/internal/escape"
	"github.com/zktorture/zktorture/sim"
)

// Verdict is what a campaign says.
type Verdict string

// The verdicts. Of several that hold the first counts: what broke is broken, whatever else was not looked at.
const (
	Violation Verdict = "violation" // a recipe broke a property, and was not known to be broken on purpose
	Red       Verdict = "red"       // the campaign did not do what it says: see the package documentation
	Unknown   Verdict = "unknown"   // a unit gave no result, or a job has no verdict
	Running   Verdict = "running"   // none of these so far
	OK        Verdict = "ok"
)

// Exit is the exit status of a command that ends with this verdict, as those of torture: 0 ok, 1 violation, 2 the rest.
func (v Verdict) Exit() int {
	switch v {
	case OK:
		return 0
	case Violation:
		return 1
	}
	return 2
}

// Judgement is how a campaign stands. Its sentences are plain text, without characters that steer a terminal.
type Judgement struct {
	Verdict Verdict
	Red     []string // why it is red, each a sentence with a cure
	Unknown []string // what has no result, likewise
	Broken  int      // properties that were broken by recipes that are not of the zoo
}

// Reasons are all that keep it from being ok, but for what broke.
func (j Judgement) Reasons() []string { return slices.Concat(j.Red, j.Unknown) }

// workerSilence is how long a worker may not be heard of before it counts as gone, and how long a campaign may have none
// when it begins.
const workerSilence = time.Minute

// judge says how a campaign stands: from its status while it runs, and from its report, if there is one. With a
// report the status may be zero; what only a status has is then not judged.
func judge(s status.Status, r *campaign.Report) Judgement {
	j := judging{s: s, ended: r != nil || s.State == status.Ended}
	j.flow()
	if r != nil {
		j.report(r)
	} else {
		j.status()
	}
	j.canaries(r)
	j.unequal()
	for _, p := range s.Problems {
		j.red("The coordinator has a problem: %s.", strings.TrimSuffix(p, "."))
	}
	return j.judgement()
}

// judging is a judgement that is being made.
type judging struct {
	Judgement
	s        status.Status
	ended    bool
	reported sim.Verdict // of [campaign.Report.Verdict]; "": there is no report
}

func (j *judging) red(format string, args ...any) {
	j.Red = append(j.Red, escape.Text(fmt.Sprintf(format, args...)))
}

func (j *judging) unknown(format string, args ...any) {
	j.Unknown = append(j.Unknown, escape.Text(fmt.Sprintf(format, args...)))
}

func (j *judging) judgement() Judgement {
	switch {
	case j.Broken > 0 || j.reported == sim.VerdictViolation:
		j.Verdict = Violation
	case len(j.Red) > 0:
		j.Verdict = Red
	case len(j.Unknown) > 0 || j.reported == sim.VerdictUnknown:
		j.Verdict = Unknown
	case !j.ended:
		j.Verdict = Running
	default:
		j.Verdict = OK
	}
	return j.Judgement
}

// flow judges whether results come, and whether there is somebody from whom they could come.
func (j *judging) flow() {
	if j.ended || j.s.State != status.Running {
		return
	}
	if quiet := j.s.Now.Sub(later(j.s.Began, j.s.Last)); quiet > j.patience() {
		what := fmt.Sprintf("The last result is %v old", rounded(quiet))
		if j.s.Last.IsZero() {
			what = fmt.Sprintf("There is no result after %v", rounded(quiet))
		}
		j.red("%s, and a unit may take %v: see below what the workers do, and start others.", what, rounded(j.patience()/2))
	}
	if j.s.Now.Sub(j.s.Began) > workerSilence {
		j.workers()
	}
}

// patience is how long there may be no result: twice as long as a unit may take.
func (j *judging) patience() time.Duration {
	limit := time.Duration(campaign.LimitDefault)
	if j.s.Plan != nil {
		limit = j.s.Plan.UnitLimit()
	}
	return 2 * limit
}

// workers judges whether there is a worker.
func (j *judging) workers() {
	gone, refused := 0, []string{}
	for _, w := range j.s.Workers {
		switch stateOf(w, j.s.Now) {
		case workerRefused:
			refused = append(refused, w.Refused)
		case workerGone:
			gone++
		default:
			return
		}
	}
	switch {
	case len(refused) > 0:
		j.red("No worker takes part: %s refused, the first because %s. Start workers with the build of the plan.",
			are(len(refused)), strings.TrimSuffix(refused[0], "."))
	case gone > 0:
		j.red("No worker takes part: the last was heard of more than %v ago. Start others: torture-campaign work URL.",
			rounded(workerSilence))
	default:
		j.red("No worker takes part. Start one: torture-campaign work URL.")
	}
}

// status judges what is known without a report.
func (j *judging) status() {
	episodes := 0
	for _, job := range j.s.Jobs {
		if job.Canary {
			continue
		}
		episodes += job.Episodes
		if job.Animal == "" {
			j.Broken += len(job.Found)
		}
	}
	j.nothing(episodes)
	j.noResult(j.s.Unknown)
	if missing := j.s.Units - j.s.Done - len(j.s.Unknown); j.ended && missing > 0 {
		j.unknown("It ended with %d of %d units not done: start it again, and it goes on.", missing, j.s.Units)
	}
}

// report says why the verdict of a report is what it is.
func (j *judging) report(r *campaign.Report) {
	j.reported = r.Verdict()
	episodes, undecided := 0, []string{}
	for _, job := range r.Jobs {
		if !job.Job.Canary {
			episodes += job.Episodes
		}
		switch judged := job.Judged(); {
		case judged == sim.VerdictUnknown:
			undecided = append(undecided, fmt.Sprintf("%v: %s", job.Job, cmp.Or(job.Reason, "no reason is given")))
		case judged == sim.VerdictViolation && job.Hunt != nil:
			j.red("Known bug %s: %s.", job.Job.Animal, job.Hunt.Problem)
		case judged == sim.VerdictViolation:
			j.Broken += max(len(job.Failures), 1)
		}
	}
	for _, k := range r.Again {
		if k.Breaks {
			j.Broken++
		}
	}
	j.nothing(episodes)
	j.noResult(r.Unknown)
	if len(undecided) > 0 {
		j.unknown("%s no verdict: %s.", have(len(undecided), "job"), listed(undecided, "; "))
	}
}

// nothing judges whether a campaign that ended ran anything besides its canary.
func (j *judging) nothing(episodes int) {
	if j.ended && episodes == 0 {
		j.red("It ran nothing: no episode of any job. See that there are workers which are not refused, and start it again.")
	}
}

// noResult names units that gave no result, those with the same reason together.
func (j *judging) noResult(unknown map[int]string) {
	units := map[string][]int{}
	for _, n := range slices.Sorted(maps.Keys(unknown)) {
		units[unknown[n]] = append(units[unknown[n]], n)
	}
	reasons := slices.SortedFunc(maps.Keys(units), func(a, b string) int { return cmp.Compare(units[a][0], units[b][0]) })
	for i, reason := range reasons {
		if i == namedMax {
			j.unknown("And other units gave no result: there are %d in all.", len(unknown))
			return
		}
		of := units[reason]
		j.unknown("No result of %s: %s. Run it alone: torture-campaign part --plan PLAN --unit %d.", campaign.Ranges(of),
			strings.TrimSuffix(reason, "."), of[0])
	}
}

// unequal judges units that were done twice.
func (j *judging) unequal() {
	if u := j.s.Unequal; len(u) > 0 {
		j.red("Done twice, and not equal: %s. A recipe, or the simulator, depends on more than its choices: "+
			"run torture-campaign part --plan PLAN --unit %d twice, and compare.", campaign.Ranges(u), u[0])
	}
}

// canaries judges the canaries.
func (j *judging) canaries(r *campaign.Report) {
	all := canariesOf(j.s, r)
	for _, c := range all {
		if why := c.trouble(j.ended); why != "" {
			j.red("%s", why)
		}
	}
	plan := j.s.Plan
	if r != nil {
		plan = r.Plan
	}
	if j.ended && len(all) == 0 && plan != nil && plan.Canary != noCanary {
		j.red(`The canary was not run, though the plan has one. Start it again, or write "canary": "none" into the plan.`)
	}
}

// noCanary is what a plan without a canary says.
const noCanary = "none"

// canariesOf are the canaries' counts.
func canariesOf(s status.Status, r *campaign.Report) (all []*canary) {
	add := func(job campaign.Job, episodes int, found func(property string) int) {
		if !job.Canary {
			return
		}
		if c := countOf(job.Animal, job.String(), episodes, found); c != nil {
			all = append(all, c)
		}
	}
	if r != nil {
		for _, job := range r.Jobs {
			add(job.Job, job.Episodes, func(property string) (n int) {
				for _, f := range job.Failures {
					if f.Property == property {
						n += f.Times
					}
				}
				return n
			})
		}
		return all
	}
	for _, job := range s.Jobs {
		add(job.Job, job.Episodes, func(property string) (n int) {
			for _, f := range job.Found {
				if f.Property == property {
					n += f.Times
				}
			}
			return n
		})
	}
	return all
}

// workerState is what a worker does.
type workerState string

const (
	workerWorking workerState = "working"
	workerIdle    workerState = "idle"
	workerGone    workerState = "gone"
	workerRefused workerState = "refused"
)

func stateOf(w status.Worker, now time.Time) workerState {
	switch {
	case w.Refused != "":
		return workerRefused
	case now.Sub(w.Last) > workerSilence:
		return workerGone
	case w.Unit < 0:
		return workerIdle
	}
	return workerWorking
}

// namedMax is how many of several things a sentence names.
const namedMax = 5

// listed names the first of several things.
func listed(things []string, separator string) string {
	if more := len(things) - namedMax; more > 0 {
		return strings.Join(things[:namedMax], separator) + separator + fmt.Sprintf("and %d others", more)
	}
	return strings.Join(things, separator)
}

func are(n int) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}

func have(n int, of string) string {
	if n == 1 {
		return "1 " + of + " has"
	}
	return fmt.Sprintf("%d %ss have", n, of)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// rounded is a duration as people say it: 8s, 12m30s, 3h20m.
func rounded(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}
