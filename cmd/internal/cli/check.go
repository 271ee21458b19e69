package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/judges"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/internal/resource/memory"
	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/live/worker"
)

type CheckCmd struct {
	File    string        `arg:"" help:"A history, one JSON object a line; - is standard input. Or the folder that torture run --out wrote on real servers, even if the run is not finished or was killed."`
	Model   string        `help:"The model to judge against, such as lock or queue: see torture list. Not needed for the folder of a run." default:"" placeholder:"MODEL" enum:",${models}"`
	Parties int           `help:"With --model doublebarrier: the number of parties of the barrier." default:"2" range:"1..10000"`
	Permits int           `help:"With --model semaphore: the number of permits." default:"1" range:"1.."`
	Window  int64         `help:"Judge while reading, in memory that does not grow with the file. The operations must be in order of their returns, and none of known outcome may last longer than this many stamps (steps or nanoseconds)." placeholder:"STAMPS" range:"1.."`
	Timeout time.Duration `help:"The longest time for the history of one object; after it the verdict is unknown." default:"1m" range:">0"`
	HTML    string        `name:"html" placeholder:"OUT.html" help:"If the history breaks the model, write porcupine's picture of the operations that do: how far they can be ordered. torture explain --html tells their story."`
}

func (k *CheckCmd) Rules() []console.Rule { return sizeRules(k.Model) }

// sizeRules are those of flags that say how large the object of a model is.
func sizeRules(model string) []console.Rule {
	return []console.Rule{
		console.When(model == "doublebarrier", "parties", "needs --model doublebarrier"),
		console.When(model == "semaphore", "permits", "needs --model semaphore"),
	}
}

// searchMemory is the most memory for a search beside the history itself, in bytes; if it needs more the verdict is unknown.
const searchMemory = 1 << 30

// judged is the outcome of a check.
type judged struct {
	verdicts   []linearizability.Verdict
	operations int
	grants     map[string]*worker.Grants // by object
	history    linearizability.History   // nil for a stream
}

// add counts an operation.
func (j *judged) add(o linearizability.Operation) {
	j.operations++
	if j.grants[o.Object] == nil {
		j.grants[o.Object] = &worker.Grants{}
	}
	j.grants[o.Object].Add(o)
}

// blind is why the history is no pass whatever its verdicts; "" if it may be one.
func (j judged) blind() string {
	for _, object := range slices.Sorted(maps.Keys(j.grants)) {
		if why := j.grants[object].Unknown(); why != "" {
			return strings.TrimPrefix(object+": "+why, ": ")
		}
	}
	return ""
}

func (k *CheckCmd) Run(c *console.Context) error {
	in, err := console.Interruptible(c, k.open)
	if errors.Is(err, errNoRound) {
		return k.nothing(c)
	} else if err != nil {
		return console.OfFile(k.File, err)
	}
	defer in.Close()
	for _, note := range in.notes {
		fmt.Fprintf(c.Stderr, "%s: %s\n", k.File, note)
	}
	if judges.Knows(in.model.Name) && k.Window > 0 {
		return fmt.Errorf("histories of a %s are judged whole, by the judge of that kind: leave out --window", in.model.Name)
	}
	judge := k.whole
	if k.Window > 0 {
		judge = k.stream
	} else {
		in.expect()
	}
	j, err := console.Interruptible(c, func() (judged, error) { return judge(in.model, in.Reader) })
	if err != nil {
		return console.OfFile(k.File, err)
	}
	if j.operations == 0 && k.Model == "" {
		return k.nothing(c)
	} else if j.operations == 0 {
		return fmt.Errorf("%s: the history is empty, so there is nothing to judge", k.File)
	}
	return k.show(c, in.model, j)
}

// nothing is the verdict on a run without any history.
func (k *CheckCmd) nothing(c *console.Context) error {
	fmt.Fprintf(c.Stdout, "unknown: %v\n", errNoRound)
	return console.VerdictError(console.ExitUnknown)
}

func openHistory(file string) (*os.File, error) {
	if file == "-" {
		return os.Stdin, nil
	}
	return os.Open(file)
}

func readHistory(file string) (linearizability.History, error) {
	in, err := openHistory(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return histories.Read(in)
}

// whole reads the whole history, then judges it.
func (k *CheckCmd) whole(model linearizability.Model, in io.Reader) (judged, error) {
	history, err := histories.Read(in)
	if err != nil {
		return judged{}, err
	}
	j := judged{grants: map[string]*worker.Grants{}, history: history}
	for _, op := range history {
		j.add(op)
	}
	memory.LimitHeap(searchMemory)
	options := linearizability.Options{Timeout: k.Timeout, MemoryLimit: searchMemory}
	j.verdicts = judgeHistory(model, history, options)
	return j, nil
}

// stream judges the history while reading it. The verdicts are complete at its end.
func (k *CheckCmd) stream(model linearizability.Model, in io.Reader) (j judged, err error) {
	streams := map[string]*linearizability.Stream{}
	j.grants = map[string]*worker.Grants{}
	for op, err := range histories.ReadEach(in) {
		if err != nil {
			return judged{}, err
		}
		j.add(op)
		s := streams[op.Object]
		if s == nil {
			if s, err = linearizability.NewStream(model); err != nil {
				return judged{}, err
			}
			streams[op.Object] = s
		}
		if err := s.Add(op); err != nil {
			return judged{}, fmt.Errorf("%w; is --window %d as long as the longest operation?", err, k.Window)
		}
		if op.Outcome == linearizability.OK {
			s.Advance(op.Return - k.Window)
		}
	}
	for _, object := range slices.Sorted(maps.Keys(streams)) {
		j.verdicts = append(j.verdicts, streams[object].End())
	}
	return j, nil
}

// show prints the verdicts that are not ok, and the worst.
func (k *CheckCmd) show(c *console.Context, model linearizability.Model, j judged) error {
	k.Model = model.Name
	for _, v := range j.verdicts {
		if v.Outcome != linearizability.Ok {
			fmt.Fprintln(c.Stdout, v)
		}
		for _, why := range v.Tried {
			fmt.Fprintf(c.Stdout, "  undecided by the %s\n", why)
		}
	}
	worst := linearizability.Worst(j.verdicts)
	if why := j.blind(); why != "" && worst == linearizability.Ok {
		worst = linearizability.Undetermined
		fmt.Fprintln(c.Stdout, why)
	}
	console.PaintVerdict(c.Stdout, worst.String())
	fmt.Fprintf(c.Stdout, ": %d operations on %d objects, judged as %s%s\n", j.operations, len(j.verdicts),
		k.Model, decidedBy(j.verdicts))
	exit := map[linearizability.Status]int{linearizability.Violation: console.ExitViolation,
		linearizability.Undetermined: console.ExitUnknown}[worst]
	return c.End(exit, errors.Join(k.disputed(c, j), k.picture(c, model, j.verdicts)))
}

// decidedBy names the checker that passed the history, if it has one object.
func decidedBy(verdicts []linearizability.Verdict) string {
	if len(verdicts) != 1 || verdicts[0].Outcome != linearizability.Ok {
		return ""
	}
	return " by the " + verdicts[0].Checker
}

// disputed saves the disagreements of a judged history.
func (k *CheckCmd) disputed(c *console.Context, j judged) error {
	for _, v := range j.verdicts {
		if !v.Disputed() {
			continue
		}
		others := func(op linearizability.Operation) bool { return op.Object != v.Object }
		whole := slices.DeleteFunc(slices.Clone(j.history), others) // as far as it was kept
		inputs := map[string]linearizability.History{"monitor": whole, "porcupine": v.Operations}
		if err := output.SaveDisputed(c, output.CounterexamplesDir, k.Model+"-"+v.Object, inputs); err != nil {
			return err
		}
	}
	return nil
}

// picture writes what porcupine draws of the first violation, whichever checker has found it, or says why it draws nothing.
func (k *CheckCmd) picture(c *console.Context, model linearizability.Model, verdicts []linearizability.Verdict) error {
	i := slices.IndexFunc(verdicts, func(v linearizability.Verdict) bool { return v.Outcome == linearizability.Violation })
	err := errors.New("no violation was found")
	var draw func(io.Writer) error
	switch {
	case k.HTML == "":
		return nil
	case i >= 0:
		draw, err = picture(model, verdicts[i])
	}
	if err != nil {
		fmt.Fprintf(c.Stdout, "%s is not written: %v\n", k.HTML, err)
		return nil
	}
	if err := wholefile.WriteBy(k.HTML, draw); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	fmt.Fprintf(c.Stdout, "%s: %s, as porcupine draws the %d operations\n", k.HTML, verdicts[i].Property, len(verdicts[i].Operations))
	return nil
}
