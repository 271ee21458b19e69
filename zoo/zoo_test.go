package zoo

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

func hunted(t *testing.T, a KnownBug, cfg HuntConfig) Catch {
	t.Helper()
	testkit.ManyWorlds(t)
	c, err := NewHunter(cfg).Hunt(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func known(t *testing.T, id string) KnownBug {
	t.Helper()
	found, err := Find([]string{id})
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

func TestAKnownBugIsFoundAndItsFixedVersionIsClean(t *testing.T) {
	cfg := HuntConfig{Seed: 1, Episodes: 3000}
	c := hunted(t, known(t, "dq6"), cfg)
	if !c.OK() || !c.FixedClean || c.FixedEpisodes != 1500+1500/len(c.Bug.sharing()) || c.Found.Property != "order" {
		t.Errorf("%+v", c)
	}
	again := hunted(t, known(t, "DQ6"), HuntConfig{Seed: 1, Episodes: 3000, Workers: 1, SkipFixed: true})
	if again.Episodes != c.Episodes || again.Found.Hash != c.Found.Hash {
		t.Errorf("equal seeds, but found in %d and in %d episodes", c.Episodes, again.Episodes)
	}
	// That it is clean says something: beside it the bug is.
	dubious := c.Bug
	dubious.Fixed = dubious.Broken
	near := &Catch{Bug: dubious, Found: c.Found}
	if r, err := NewHunter(cfg).examineNear(t.Context(), near); err != nil || r.Verdict != sim.VerdictViolation || r.Violations[0].Episode > 20 {
		t.Errorf("near its counterexample DQ6 is %s: %v, %v", r.Verdict, r.Violations, err)
	}
}

// A hunt for what is not broken fails, and an accused fixed version is named.
func TestTheZooCanFail(t *testing.T) {
	sound := known(t, "DQ6")
	sound.Broken, sound.Fixed = sound.Fixed, sound.Broken
	c := hunted(t, sound, HuntConfig{Seed: 1, Episodes: 3000})
	if c.OK() || c.Found != nil || c.FixedClean || c.Episodes != 3000 {
		t.Errorf("%+v", c)
	}
	for _, want := range []string{"not found in 3000 episodes", "the fixed version is accused: ", "order"} {
		if !strings.Contains(c.Problem, want) {
			t.Errorf("the problem is %q", c.Problem)
		}
	}
}

func TestTheCanarySingsAtItsRate(t *testing.T) {
	c := hunted(t, known(t, "canary"), HuntConfig{Seed: 1, Episodes: 3000, SkipFixed: true})
	if !c.OK() || c.Rate < canaryRate/2 {
		t.Errorf("%+v", c)
	}
	loud := known(t, "canary")
	loud.Rate = 4 * canaryRate
	if c := hunted(t, loud, HuntConfig{Seed: 1, Episodes: 1000, SkipFixed: true}); c.OK() {
		t.Errorf("found in %.2f %% of the episodes, which passes for %.2f %%", 100*c.Rate, 100*loud.Rate)
	}
}

func TestZooEntries(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range KnownBugs() {
		if seen[a.ID] || a.Title == "" || a.Source == "" || a.Property == "" || a.Clients < 1 {
			t.Errorf("%s: named twice or incomplete", a.ID)
		}
		seen[a.ID] = true
		if _, err := world.ParseFaults(a.Needs); err != nil {
			t.Errorf("%s needs %q: %v", a.ID, a.Needs, err)
		}
		if a.Broken().Recipe() == a.Fixed().Recipe() {
			t.Errorf("%s: broken and fixed are the same", a.ID)
		}
	}
	if _, err := Find([]string{"unicorn"}); err == nil || !strings.Contains(err.Error(), "DQ6") {
		t.Errorf("a bug that does not exist: %v", err)
	}
}

// Each bug of package published is in a list of mistakes or asked for, has a comment that says what is wrong, and is known.
func TestEveryPublishedBugIsKnown(t *testing.T) {
	made, marked := publishedBugs(t)
	known := map[string]bool{}
	for _, a := range all() {
		known[a.ID] = true
		if a.Rate == 0 && (!made[a.ID] || !marked[a.ID]) {
			t.Errorf("%s in package published: a switch %v, a comment BUG %v", a.ID, made[a.ID], marked[a.ID])
		}
	}
	for _, ids := range []map[string]bool{made, marked} {
		for id := range ids {
			if !known[id] {
				t.Errorf("%s is published, and is not in known.tsv", id)
			}
		}
	}
}

// publishedBugs are the ids that switches of package published ask for, and those of its comments BUG.
func publishedBugs(t *testing.T) (made, marked map[string]bool) {
	t.Helper()
	asked := regexp.MustCompile(`(?:\bHas\(|^\t\{)"(\w+)"[,)]`)
	mark := regexp.MustCompile(`^: ([A-Z]+\d+(?:, [A-Z]+\d+)*) `)
	made, marked = map[string]bool{}, map[string]bool{}
	names, err := filepath.Glob("published/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for line := range strings.Lines(string(src)) {
			if strings.HasPrefix(line, "//") {
				continue
			}
			for _, m := range asked.FindAllStringSubmatch(line, -1) {
				made[m[1]] = true
			}
			_, comment, found := strings.Cut(line, "// BUG")
			ids := mark.FindStringSubmatch(comment)
			if found && ids == nil {
				t.Errorf("%s: a comment is not of the form // BUG: ID, ID …: %s", name, line)
			}
			for _, id := range strings.Split(strings.Join(ids[min(1, len(ids)):], ""), ", ") {
				marked[id] = true
			}
		}
	}
	delete(marked, "")
	return made, marked
}

// No fixed version is accused, of what all known bugs that have it need.
func TestFixedVersionsAreClean(t *testing.T) {
	testkit.ManyWorlds(t)
	hunter := NewHunter(HuntConfig{Seed: 1, Episodes: testkit.Sized(80, 4000)})
	for _, b := range KnownBugs() {
		r, err := hunter.examineAll(t.Context(), &Catch{Bug: b})
		if err != nil || r.Verdict != sim.VerdictOK {
			t.Errorf("%s: its fixed version is %s: %s %v", b.ID, r.Verdict, accusations(r), err)
		}
	}
}

// As it was printed the class Locks fails at its first call, which hides its other bugs; each of
// these shows with the others fixed.
func TestOneBugHidesOthers(t *testing.T) {
	testkit.ManyWorlds(t)
	asPrinted := func(class *published.LocksClass, c recipes.Conn, path string) workload.Locker {
		return published.NewLocksUser(class, c, path, published.AllBugs())
	}
	printed := workload.Lock(nil, workload.Named("Locks as printed"), workload.Existing(), workload.Unfair(),
		workload.Statics(nil, asPrinted))
	r, err := sim.Run(t.Context(), printed, sim.Config{Episodes: 1000, Seed: 1, NoFaultsAtAll: true, NoShrink: true})
	goesOn := func(f sim.Found) bool { return f.Property == "unusable" }
	r.Violations = slices.DeleteFunc(r.Violations, goesOn)
	if err != nil || len(r.Violations) != 1 || r.Violations[0].Property != "unexpected-error" {
		t.Errorf("as printed: %v %v", err, r.Violations)
	}
	for id, property := range map[string]string{
		"LK2": "exclusion", "LK3": "lost-wakeup", "LK4": "watch-leak", "LK6": "lost-wakeup",
	} {
		c := hunted(t, known(t, id), HuntConfig{Seed: 1, Episodes: 1000, SkipFixed: true, NoShrink: true})
		if !c.OK() || c.Found.Property != property {
			t.Errorf("%s alone: %+v", id, c)
		}
	}
}

// A client that takes its session for lost, by a timer of its own, still has the znodes that the servers
// keep for it. Who forgets those is found, who removes them is not accused.
func TestLostIsNotExpired(t *testing.T) {
	c := hunted(t, known(t, "X6"), HuntConfig{Seed: 1, Episodes: 2000, NoShrink: true})
	if !c.OK() || !c.FixedClean || c.Found.Property != "orphan" {
		t.Errorf("%+v", c)
	}
}

// Who is about to use what it holds is held back in some episodes, while its session ends and others go on. Where nobody was,
// these found it in 4 and in 8 episodes.
func TestHoldersAreHeldBack(t *testing.T) {
	testkit.ManyWorlds(t)
	a := known(t, "L22")
	for _, strategy := range []string{"patterns", "conflicts"} {
		r, err := sim.Run(t.Context(), a.Broken(), sim.Config{
			Strategy: strategy, Episodes: 2000, Seed: 1, Clients: a.Clients, NoShrink: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		found := slices.IndexFunc(r.Violations, func(f sim.Found) bool { return f.Property == a.Property })
		if found < 0 || r.Violations[found].Times < 12 {
			t.Errorf("%s: of 2000 episodes too few have a write that comes too late: %v", strategy, r.Violations)
		}
	}
}

// Families with a fixed version in common are the same without their bugs, run by run.
func TestFixedVersionsInCommon(t *testing.T) {
	testkit.ManyWorlds(t)
	runs, common := map[string]sim.Result{}, 0
	for name, f := range families {
		if f.fixed == "" {
			continue
		}
		w := f.without()
		r, err := sim.Run(t.Context(), w, sim.Config{Episodes: 30, Seed: 1, Faults: world.AllFaults, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		first, known := runs[w.Recipe()]
		if !known {
			runs[w.Recipe()] = r
			continue
		}
		common++
		if r.Hash != first.Hash || r.Verdict != first.Verdict {
			t.Errorf("%s: %s, %x, but %s, %x of others that are %s", name, r.Verdict, r.Hash, first.Verdict, first.Hash, w.Recipe())
		}
	}
	if common < 2 {
		t.Errorf("only %d families have a fixed version in common", common)
	}
}

// There is a family for each row of the table, and a row for each.
func TestFamilies(t *testing.T) {
	used := map[string]bool{}
	_, rows, _ := strings.Cut(table, "\n")
	for row := range strings.Lines(rows) {
		name := strings.Split(row, "\t")[1]
		if used[name] = true; families[name].make == nil {
			t.Errorf("there is no family %q", name)
		}
	}
	if len(used) != len(families) {
		t.Errorf("%d families, and %d are used", len(families), len(used))
	}
}
