package operators

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/zktorture/zktorture/internal/cli/output"
	"github.com/zktorture/zktorture/live"
)

// page is what the layout shows.
type page struct {
	Title    string
	Verdict  string // ok, violation or unknown
	Answer   string // yes, no or not known
	Says     string
	Missing  []string
	Measures []measure
	Reigns   []row
	Watched  string // why nothing is known of leaders; empty if something is
	Chart    *chart // nil if there are no operations
	Latency  []latency
	Hurts    []hurt
	Kept     []output.Threshold
	More     int // hurts and reigns that are not shown
	Skipped  []skipped
}

// measure is a figure beside the limit that holds for it.
type measure struct{ Name, Value, Note string }

// row is who led from one moment to another.
type row struct {
	Reign
	Until int64
}

// hurt is a fault of a server.
type hurt struct {
	live.ServerStrike
	Next string // who led when all were well
}

// Lasted is how long the fault lasted: less than planned if the run ended.
func (h hurt) Lasted() string {
	if planned := h.ForMS * 1e6; h.Well == 0 || planned < h.Well-h.At {
		return took(planned)
	}
	return h.After()
}

// After is how long it took until all were well.
func (h hurt) After() string { return took(h.Well - h.At) }

// skipped is a property that was not checked.
type skipped struct{ Property, Why string }

// rowsMax bounds the rows of a table.
const rowsMax = 100

// first are the rows that a table has.
func first(rows any) any {
	switch rows := rows.(type) {
	case []row:
		return rows[:min(len(rows), rowsMax)]
	case []hurt:
		return rows[:min(len(rows), rowsMax)]
	}
	return rows
}

// told says what a run is worth for who operates its servers.
func told(r *Run) *page {
	p := &page{Title: title(r), Missing: r.Missing}
	p.judge(r)
	p.lead(r)
	bands := r.bands()
	p.measure(r, bands)
	for _, s := range r.Hurts {
		p.Hurts = append(p.Hurts, hurt{s, r.leader(s.Well)})
	}
	p.More = max(len(p.Hurts)-rowsMax, 0) + max(len(p.Reigns)-rowsMax, 0)
	if len(r.operations) > 0 && r.End > 0 {
		p.Chart, p.Latency = draw(r, p.Reigns, bands), latencies(r.operations, bands)
	}
	if r.result != nil {
		p.Kept = r.result.Thresholds
		for _, property := range r.result.NotJudged {
			p.Skipped = append(p.Skipped, skipped{property, cmp.Or(whys[property],
				"it takes all changes of the servers, in their order, and clients do not see them all")})
		}
	}
	return p
}

// whys says why a property is not checked on real servers.
var whys = map[string]string{
	"belief":   "what came first inside a client is not seen",
	"herd":     "which event woke which client is not seen",
	"idle":     "the moment at which all faults are over is not known exactly",
	"order":    "which operation sent which transaction is not seen",
	"unusable": "the moment at which all faults are over is not known exactly",
}

func title(r *Run) string {
	where := map[string]string{"ensemble": "servers that torture has started", "serve": "servers in memory",
		"live": "your servers"}[r.begin.Backend]
	if n := r.begin.Nodes; n > 0 {
		where = fmt.Sprintf("%d %s", n, where)
	}
	return fmt.Sprintf("%s (%s) on %s: did they survive?", r.begin.Workload, r.begin.Recipe, where)
}

// judge answers whether the servers have survived.
func (p *page) judge(r *Run) {
	worst, kinds := int64(0), map[string]int{}
	for _, s := range r.Hurts {
		worst = max(worst, s.Well-s.At)
		kinds[string(s.Kind)]++
		if s.Well == 0 {
			p.Verdict, p.Answer = "violation", "no"
			p.Says = fmt.Sprintf("the servers were not well again after %v of %s at %s", s.Kind, s.Whom, secs(s.At))
			return
		}
	}
	again := fmt.Sprintf("servers were hurt %s (%s), and all were well again each time, at most %s after it began",
		times(len(r.Hurts)), counts(kinds), took(worst))
	if len(r.Hurts) == 0 {
		again = "no server was hurt"
	}
	switch {
	case r.result == nil:
		p.Verdict, p.Answer, p.Says = "unknown", "not known", "the run is under way, or was killed. So far "+again
	case r.result.Verdict == "unknown":
		p.Verdict, p.Answer, p.Says = "unknown", "not known", r.result.Reason+". Before: "+again
	case r.result.Verdict == "violation":
		p.Verdict, p.Answer = "violation", "a promise broke"
		p.Says = "what clients saw breaks a promise of the recipe: see the violations below. As to the servers: " + again
	case len(r.result.broken()) > 0:
		p.Verdict, p.Answer = "violation", "too slow"
		p.Says = strings.Join(r.result.broken(), "; ") + ", while nothing struck. No promise of the recipe broke, and " + again
	case len(r.Hurts) == 0:
		p.Verdict, p.Answer = "ok", "nothing broke"
		p.Says = again + ": faults struck clients only, " + cmp.Or(counts(r.result.Faults), "and none did")
	default:
		p.Verdict, p.Answer, p.Says = "ok", "yes", again+". No promise of the recipe broke"
	}
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// counts lists how often things happened.
func counts(of map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if of[name] > 0 {
			parts = append(parts, fmt.Sprintf("%s\u00a0%d", name, of[name]))
		}
	}
	return strings.Join(parts, ", ")
}

// lead says who led when.
func (p *page) lead(r *Run) {
	switch {
	case r.begin.Backend == "live":
		p.Watched = "your servers are asked nothing but what their clients may ask, and that does not tell who leads"
	case r.begin.Backend != "ensemble":
		p.Watched = "servers in memory are not watched"
	case len(r.Reigns) == 0:
		p.Watched = "nobody watched"
	}
	for i, now := range r.Reigns {
		until := r.End
		if i+1 < len(r.Reigns) {
			until = r.Reigns[i+1].At
		}
		p.Reigns = append(p.Reigns, row{now, until})
	}
}

// leader is who led at a moment.
func (r *Run) leader(at int64) (found string) {
	for _, now := range r.Reigns {
		if now.At <= at {
			found = now.Server
		}
	}
	return found
}

// measure adds what a limit would be set for.
func (p *page) measure(r *Run, bands []span) {
	add := func(name, value, note string) { p.Measures = append(p.Measures, measure{name, value, note}) }
	if len(r.operations) > 0 {
		gap := r.silence()
		add("longest time without an answer", took(gap.to-gap.from), fmt.Sprintf("from %s on, %s: operations were under way, "+
			"and none was answered, also because some wait for others", secs(gap.from), where(gap, bands)))
	}
	if len(p.Reigns) > 0 {
		longest, leaders := row{}, 0
		for _, now := range p.Reigns {
			if now.Server != "" {
				leaders++
			} else if now.Until-now.At > longest.Until-longest.At {
				longest = now
			}
		}
		add("elections", fmt.Sprint(max(leaders-1, 0)), "after the first leader")
		add("longest time without a leader", took(longest.Until-longest.At), fmt.Sprintf("from %s on; servers were asked every %s",
			secs(longest.At), took(askEvery.Nanoseconds())))
	}
	if r.result != nil {
		add("recovery of clients", took(int64(r.result.Recovery*1e9)), "the longest that clients needed to reach servers after "+
			"all faults of a round (recovery_s)")
	}
}

// secs is a moment of a run.
func secs(at int64) string { return fmt.Sprintf("%.1f\u00a0s", float64(at)/1e9) }

// took is how long something took, with two digits that matter.
func took(ns int64) string {
	d := time.Duration(ns)
	for unit := time.Duration(1); unit < 10*time.Minute; unit *= 10 {
		if d < 100*unit {
			d = d.Round(unit)
			break
		}
	}
	return spaced(d)
}

// spaced writes a duration with a space before its unit, if that is one.
func spaced(d time.Duration) string {
	text := d.String()
	if i := strings.IndexFunc(text, unicode.IsLetter); d < time.Minute {
		text = text[:i] + "\u00a0" + text[i:]
	}
	return text
}
