// Package schemas makes the JSON Schemas of this project's files and JSON outputs from their Go types, with the comments
// of these, and the page that lists them. It is a module of its own because of the libraries that it takes.
package schemas

import (
	"reflect"

	"github.com/zktorture/zktorture/campaign"
	"github.com/zktorture/zktorture/campaign/torture-campaign/status"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/wholefile/formats"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/prove"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/index"

	_ "github.com/zktorture/zktorture"                     // registers formats
	_ "github.com/zktorture/zktorture/campaign/failures"   // registers a format
	_ "github.com/zktorture/zktorture/cmd/torture/serving" // registers a format
	_ "github.com/zktorture/zktorture/zoo/command"         // registers a format
)

// fileFormat is a file, or an output.
type fileFormat struct {
	Name   string         // of the schema's file
	Title  string         // a heading
	What   string         // Markdown
	Tag    string         // the value of the field format; "" if there is no such field
	Types  []reflect.Type // a document is one of these
	Lines  bool           // a document is a line of the file
	Closed bool           // readers refuse fields that they do not know
	Noted  []string       // fields that are always written, but need not be there to be read
}

// fileFormats are all formats, in the order of the page.
var fileFormats = []fileFormat{
	{Name: "counterexample", Title: "Counterexample", Tag: sim.CounterexampleFormat, Types: of[sim.Counterexample](),
		What: "Written by `torture run` and `torture-campaign merge`, read by `torture replay` and `torture explain`. The choices " +
			"suffice to run it again; the trace, the message and the history are for people and other tools."},
	{Name: "run-result", Title: "Result of a run", Types: named("run-result"),
		What: "Printed by `torture run --json`, and written to `result.json` in the folder of `--out`."},
	{Name: "zoo-result", Title: "Result of a hunt", Types: named("zoo-result"), What: "Printed by `torture zoo --json`."},
	{Name: "story", Title: "Story", Tag: story.Format, Types: of[story.Story](),
		What: "Printed by `torture explain --json`, and written by tests that fail into the folder that `ZKTORTURE_STORIES` names."},
	{Name: "certificate", Title: "Certificate", Tag: prove.CertificateFormat, Types: of[prove.Certificate](),
		What: "Written by `torture prove KIND --certificate FILE`, checked by `torture prove --check`."},
	{Name: "plan", Title: "Plan of a campaign", Tag: campaign.PlanFormat, Types: of[campaign.Plan](), Closed: true,
		What: "Written by people, read by `torture-campaign part`, `torture-campaign merge` and `torture-campaign start`. " +
			"[Campaigns](../campaign.md) explains it."},
	{Name: "unit", Title: "Result of a unit", Tag: campaign.UnitFormat, Types: of[campaign.UnitResult](),
		What: "Written by `torture-campaign part`, read by `torture-campaign merge`."},
	{Name: "sum", Title: "Sum of units", Tag: campaign.SumFormat, Types: of[campaign.Sum](),
		What: "Written by `torture-campaign merge --partial FILE`, read by `torture-campaign merge`."},
	{Name: "report", Title: "Report of a campaign", Tag: campaign.ReportFormat, Types: of[campaign.Report](),
		What: "Printed by `torture-campaign merge --json`, and written by `torture-campaign report --json FILE`."},
	{Name: "night", Title: "Night of a failure store", Tag: "zktorture night 1", Types: named("night"),
		What: "A file of the folder `nights` of `torture-campaign start --failures DIR`. It never changes."},
	{Name: "run-begin", Title: "Description of a run", Tag: index.BeginFormat, Types: of[index.Begin](),
		What: "`run.json` in the folder of `torture run --out DIR`, written when the run begins."},
	{Name: "history", Title: "History", Types: of[operation](), Lines: true, Closed: true,
		What: "`history.jsonl`, and a file for each violation on real servers. Any program can write histories for " +
			"`torture check` and `torture explain --model`."},
	{Name: "faults", Title: "Faults on real servers", Lines: true, Closed: true, Noted: []string{"struck"},
		Types: []reflect.Type{reflect.TypeFor[live.Strike](), reflect.TypeFor[live.ServerStrike]()},
		What: "`faults.jsonl` in the folder of `torture live --out DIR`, and what `torture live --print-faults` prints. " +
			"`torture live --faults-from FILE` repeats them. " +
			"A line is a fault of a client or of a server."},
	{Name: "strike", Title: "Faults of torture proxy and torture serve", Types: of[strike.Strike](), Lines: true,
		What: "The `--log` of `torture proxy` and `torture serve`. `torture serve --faults-from FILE` repeats them."},
	{Name: "serve-ready", Title: "Addresses of torture serve", Types: named("serve-ready"),
		What: "The line that `torture serve` prints when clients can connect."},
	{Name: "list", Title: "Lists", Types: named("list"),
		What: "Printed by `torture list --json`. What was not asked for is absent."},
	{Name: "doctor", Title: "What is there", Types: named("doctor"), What: "Printed by `torture doctor --json`."},
	{Name: "campaign-status", Title: "Status of a campaign", Types: of[status.Status](),
		What: "Printed by `torture-campaign status --json`."},
	{Name: "worker-assignment", Title: "Assignment of a worker", Types: of[worker.Assignment](), Closed: true,
		What: "The first line that a [worker](../workers.md) reads."},
	{Name: "worker-command", Title: "Command to a worker", Types: named("worker-command"), Lines: true, Closed: true,
		What: "What a [worker](../workers.md) reads after its assignment: an operation, or, with `cancel` alone, that one " +
			"is given up."},
	{Name: "worker-reply", Title: "Answer of a worker", Types: named("worker-reply"), Lines: true, Closed: true,
		What: "What a [worker](../workers.md) writes: first that it is ready, with `zktorture`; then answers, with `id`; and " +
			"changes of its session, with `state`."},
}

func of[T any]() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }

func named(name string) []reflect.Type { return []reflect.Type{formats.Of(name)} }

// operation is a line of a history, as package histories reads and writes it.
type operation struct {
	// Client is the number of the caller, which has one call at a time. After an operation of unknown outcome a client
	// goes on under another number.
	Client int `json:"client"`
	// Op is what was called, as acquire or offer.
	Op string `json:"op"`
	// Arg is what was passed.
	Arg value `json:"arg,omitempty"`
	// Result is what came back.
	Result value `json:"result,omitempty"`
	// Outcome is what the client knows: ok, it took effect between call and return; fail, it surely had no effect;
	// unknown, it may take effect at any time from its call on, or never.
	Outcome outcome `json:"outcome"`
	// Call is a stamp of a clock that never goes back: steps or nanoseconds.
	Call int64 `json:"call"`
	// Return is a stamp of the same clock, null if the operation never returned.
	Return *int64 `json:"return"`
	// Object names what was called, where a history covers several.
	Object string `json:"object,omitempty"`
	// Note is text for people. It is not judged.
	Note string `json:"note,omitempty"`
	// Process is the client that the harness knows, where client is a number given in its place.
	Process value `json:"process,omitempty"`
}

// value is an argument or a result.
type value any

// outcome is what a client knows about an operation of its own.
type outcome string
