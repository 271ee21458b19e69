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

// judged is the outcome of a check.
type judged struct {
	verdicts   []linearizability.Verdict
	operations int
	grants     map[string]*worker.Grants // by object
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
	in.expect()
	j, err := console.Interruptible(c, func() (judged, error) { return k.judge(in.model, in.Reader) })
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

// judge reads the history, then judges it.
func (k *CheckCmd) judge(model linearizability.Model, in io.Reader) (judged, error) {
	history, err := histories.Read(in)
	if err != nil {
		return judged{}, err
	}
	j := judged{grants: map[string]*worker.Grants{}}
	for _, op := range history {
		j.add(op)
	}
	j.verdicts = judgeHistory(model, history, k.Timeout)
	return j, nil
}

// show prints the verdicts that are not ok, and the worst.
func (k *CheckCmd) show(c *console.Context, model linearizability.Model, j judged) error {
	k.Model = model.Name
	for _, v := range j.verdicts {
		if v.Outcome != linearizability.Ok {
			fmt.Fprintln(c.Stdout, v)
		}
	}
	worst := linearizability.Worst(j.verdicts)
	if why := j.blind(); why != "" && worst == linearizability.Ok {
		worst = linearizability.Undetermined
		fmt.Fprintln(c.Stdout, why)
	}
	console.PaintVerdict(c.Stdout, worst.String())
	fmt.Fprintf(c.Stdout, ": %d operations on %d objects, judged as %s\n", j.operations, len(j.verdicts),
		k.Model)
	exit := map[linearizability.Status]int{linearizability.Violation: console.ExitViolation,
		linearizability.Undetermined: console.ExitUnknown}[worst]
	return c.End(exit, k.picture(c, model, j.verdicts))
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
