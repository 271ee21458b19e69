package scan

import (
	"fmt"
	"go/format"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// test is a test that was written, or is to be.
type test struct {
	*target
	Name    string   // TestScanLock
	Unknown []string // what it marks
	apart   bool     // nothing says that what its users make is the same
	text    string
}

// fileOf is an empty file of a package.
func fileOf(pkg string, within *types.Package) *file {
	const ours = "github.com/zktorture/zktorture/"
	return &file{pkg: pkg, within: within, imports: map[string]string{"errors": "errors", "strings": "strings", "fmt": "fmt",
		clientPath: "zk", "testing": "testing", "context": "context", "time": "time", "crypto/rand": "rand", ours + "sim": "sim",
		ours + "workload": "workload", ours + "workload/service": "service", ours + "recipes": "recipes"}}
}

// file is a test file of a package.
type file struct {
	pkg     string // its name
	within  *types.Package
	imports map[string]string
	tests   []*test
}

// add writes the test of a target; false if nothing makes a value.
func (f *file) add(s *sources, g *target, sees func(types.Object) bool) bool {
	write := map[string]func(w *writer) string{"lock": (*writer).lock, "rwlock": (*writer).lock, "semaphore": (*writer).lock,
		"election": (*writer).election, "queue": (*writer).queue, "counter": (*writer).counter, "doublebarrier": (*writer).doubleBarrier}[g.kind]
	w := &writer{&maker{sources: s, g: g, within: f.within, sees: sees, imports: maps.Clone(f.imports), servers: "s.Addresses", path: "path",
		self: "rand.Text()", taken: map[string]bool{}, making: map[string]bool{}}}
	if write == nil {
		w.servers, w.self = "i.Servers", `fmt.Sprint("scan-", i.Number)`
		write = (*writer).service
	}
	made, ok := w.target()
	if !ok {
		return false
	}
	w.lines = append(w.lines, "return "+made+", nil")
	text := write(w)
	if text == "" { // its methods do not fit the kind
		g.kind, g.take, g.give = "service", nil, nil
		return f.add(s, g, sees)
	}
	name := strings.ToUpper(g.name()[:1]) + g.name()[1:]
	for n, base := 2, name; slices.ContainsFunc(f.tests, func(t *test) bool { return t.Name == "TestScan"+name }); n++ {
		name = fmt.Sprint(base, n)
	}
	f.imports = w.imports
	used := strings.NewReplacer("path: path, id: rand.Text()", "", "path string", "").Replace(text)
	apart := w.servers == "s.Addresses" && (strings.Contains(used, "rand.Text()") || strings.Contains(used, "a.id")) && !pathUsed.MatchString(used)
	f.tests = append(f.tests, &test{g, "TestScan" + name, w.unknown, apart, strings.ReplaceAll(text, "NAME", name)})
	return true
}

// pathUsed matches a use of the path in a test.
var pathUsed = regexp.MustCompile(`a\.path\b|[(, ]path[,) }+]`)

// writer writes one test. NAME stands for the name of the type in its texts.
type writer struct{ *maker }

// constructor is the function that makes the adapter NAME.
func (w *writer) constructor() string {
	body := strings.Join(w.lines, "\n")
	return fmt.Sprintf("func(s workload.Servers, path string) %%s {\n%s\nreturn &scanNAME{scanned: scanned[%s]{path: path, id: rand.Text(), make: func() (made %s, err error) {\n%s\n}}}\n}",
		strings.Join(w.eager, "\n"), w.typed(w.g.t), w.typed(w.g.t), body)
}

// of is the test of a kind.
func (w *writer) of(kind, contract, rest string, waived ...string) string {
	w.imported("testing", "testing")
	w.imported("github.com/zktorture/zktorture/workload", "workload")
	waived = append(waived, "order", "herd", "unexpected-error", "goroutine-leak", "false-lost", "watch-leak", "leak")
	doc := fmt.Sprintf("// TestScanNAME tortures %s as a%s %s. What is waived a %s of its kind may promise, and scan cannot know.\n",
		w.g.name(), map[bool]string{true: "n"}[kind == "election"], kind, kind)
	made := strings.Replace(w.constructor(), "%s", "workload."+contract, 1)
	title := "workload." + strings.Replace(strings.ToUpper(kind[:1])+kind[1:], "Rwl", "RWL", 1)
	if kind = strings.Replace(kind, "doubleb", "double b", 1); kind == "semaphore" || kind == "double barrier" {
		title = "func(new func(recipes.Conn, string) workload." + contract + ", o ...workload.Option) *workload.Workload {\nreturn workload." +
			map[string]string{"semaphore": "Semaphore", "double barrier": "DoubleBarrier"}[kind] + "(2, new, o...)\n}"
	}
	return doc + "func TestScanNAME(t *testing.T) {\nscanTest(t, func(o ...workload.Option) *workload.Workload { return workload.Of(" + title + ", " + made +
		",\nappend(o, " + map[bool]string{false: "workload.Existing(), "}[w.g.absent] +
		map[bool]string{true: "workload.SetUp(scanThere), "}[w.g.present] + "workload.Waive(\"" + strings.Join(waived, `", "`) + "\"))...)\n}" + map[bool]string{true: `, "lost", "false-empty"`}[kind == "queue"] + ")\n}\n\n" + rest
}

// invoke is a call of a method of made, in which a context ends what can be ended; ends says whether it can.
func (w *writer) invoke(f *types.Func, ctx string, hold types.Type) (call string, ends bool) {
	var args []string
	w.inArgs, w.paths = true, 0
	if w.servers != "i.Servers" {
		w.path, w.self = "a.path", "a.id"
	}
	for i, p := range slices.Collect(f.Signature().Params().Variables()) {
		channel, isChannel := p.Type().Underlying().(*types.Chan)
		stops := isChannel && types.Identical(channel.Elem(), types.NewStruct(nil, nil))
		switch {
		case f.Signature().Variadic() && i == f.Signature().Params().Len()-1:
		case types.TypeString(p.Type(), nil) == "context.Context":
			args, ends = append(args, ctx), true
		case stops && channel.Dir() == types.RecvOnly:
			args, ends = append(args, ctx+".Done()"), true
		case stops:
			args, ends = append(args, "scanStop("+ctx+")"), true
		case hold != nil && types.Identical(p.Type(), hold):
			args = append(args, "a.hold")
		default:
			args = append(args, w.value(p.Type(), p.Name(), f))
		}
	}
	w.inArgs = false
	return "made." + f.Name() + "(" + strings.Join(args, ", ") + ")", ends
}

// results are the variables for what a method returns: one with a name for each name that its type has in as.
func results(f *types.Func, as map[string]string) (list string, has map[string]bool) {
	var all []string
	has = map[string]bool{}
	for r := range f.Signature().Results().Variables() {
		name := as[types.TypeString(r.Type(), nil)]
		if name == "" || has[name] {
			name = "_"
		}
		has[name] = true
		all = append(all, name)
	}
	return strings.Join(all, ", "), has
}

// assigned is a call with its results, which are declared if one is new.
func assigned(list, call string) string {
	switch {
	case list == "":
		return call
	case strings.Trim(list, "_, ") == "":
		return list + " = " + call
	}
	return list + " := " + call
}

// gives is the method of an adapter that gives back by f.
func (w *writer) gives(method string, f *types.Func, hold types.Type, also string) string {
	call, _ := w.invoke(f, "ctx", hold)
	list, has := results(f, map[string]string{"error": "err"})
	last := "return nil"
	if has["err"] {
		last = "return scanGiven(err)"
	}
	if w.g.hold != nil {
		return fmt.Sprintf("func (a *scanNAME) %s(ctx context.Context) error {\n%s\n%s\n}\n\n",
			method, assigned(list, strings.Replace(call, "made.", "a.hold.", 1)), last)
	}
	return fmt.Sprintf("func (a *scanNAME) %s(ctx context.Context) error {\nmade, err := a.get()\nif err != nil {\nreturn scanError(err)\n}\n%s%s\n%s\n}\n\n",
		method, also, strings.Replace(assigned(list, call), "err := ", "err = ", 1), last)
}

var tries = regexp.MustCompile(`^(Try|Claim)`)

// call is a method of an adapter that calls f, with what has to be said of its error.
func (w *writer) call(method string, f *types.Func) string {
	call, _ := w.invoke(f, "ctx", nil)
	list, has := results(f, map[string]string{"error": "err"})
	if !has["err"] {
		return ""
	}
	return fmt.Sprintf("func (a *scanNAME) %s(ctx context.Context) error {\nmade, err := a.get()\nif err != nil {\nreturn scanError(err)\n}\n%s\nreturn scanError(err)\n}\n\n",
		method, strings.Replace(assigned(list, call), ":=", "=", 1))
}

func (w *writer) doubleBarrier() string {
	w.imported("context", "context")
	enter, leave := w.call("Enter", w.g.take), w.call("Leave", w.g.give)
	if enter == "" || leave == "" {
		return ""
	}
	return w.of("doublebarrier", "Rendezvous", "type scanNAME struct {\nscanned["+w.typed(w.g.t)+"]\n}\n\n"+enter+leave, "hang")
}

func (w *writer) counter() string {
	w.imported("context", "context")
	delta := number(w.g.take.Signature().Params())
	method := func(params string, f *types.Func) (text string, sum bool) {
		const unsupported = "return 0, errors.ErrUnsupported"
		begin := "made, err := a.get()\nif err != nil {\nreturn 0, scanError(err)\n}\n"
		switch {
		case f == nil:
			return "func (a *scanNAME) " + params + " (int64, error) { " + unsupported + " }\n\n", false
		case f == w.g.take && delta == nil:
			begin = "if delta != 1 {\n" + unsupported + "\n}\n" + begin
		}
		var args []string
		for p := range f.Signature().Params().Variables() {
			switch {
			case types.TypeString(p.Type(), nil) == "context.Context":
				args = append(args, "ctx")
			case delta != nil && f == w.g.take && types.Identical(p.Type(), delta):
				args = append(args, w.typed(delta)+"(delta)")
			default:
				return "", false
			}
		}
		of := map[string]string{"error": "err"}
		told := number(f.Signature().Results())
		if told != nil {
			of[types.TypeString(told, nil)] = "n"
		}
		list, has := results(f, of)
		if !has["err"] {
			return "", false
		}
		result := map[bool]string{true: "int64(n)", false: "0"}[told != nil]
		return fmt.Sprintf("func (a *scanNAME) %s (int64, error) {\n%s%s\nreturn %s, scanError(err)\n}\n\n",
			params, begin, strings.Replace(assigned(list, "made."+f.Name()+"("+strings.Join(args, ", ")+")"), "err := ", "err = ", map[bool]int{false: 1}[told != nil]), result), told != nil
	}
	add, sum := method("Add(ctx context.Context, delta int64)", w.g.take)
	get, _ := method("Get(ctx context.Context)", w.g.give)
	if add == "" || get == "" {
		return ""
	}
	return w.of("counter", "Adder", "type scanNAME struct {\nscanned["+w.typed(w.g.t)+"]\n}\n\n"+add+get+
		fmt.Sprintf("func (a *scanNAME) Adds() (negative, sum bool) { return false, %v }\n\n", sum), "hang", "undeclared", "stale-get")
}

func (w *writer) lock() string {
	w.imported("context", "context")
	take := w.g.take
	if w.g.give == nil {
		return w.guard()
	}
	ctx := "ctx"
	if strings.Contains(types.TypeString(take.Signature().Results(), nil), "<-chan struct{}") {
		ctx = "context.Background()" // which may be that of the hold
	}
	call, ends := w.invoke(take, ctx, nil)
	ends = ends && ctx == "ctx"
	hold := w.g.hold
	for r := range take.Signature().Results().Variables() {
		for p := range w.g.give.Signature().Params().Variables() {
			if types.Identical(r.Type(), p.Type()) && !types.Identical(r.Type(), types.Typ[types.String]) {
				hold = r.Type()
			}
		}
	}
	as := map[string]string{"error": "err", "bool": "ok", "<-chan struct{}": "lost"}
	if hold != nil {
		as[types.TypeString(hold, nil)] = "hold"
	}
	list, has := results(take, as)
	fields, lines := "", assigned(list, call)
	if has["hold"] {
		fields += "hold " + w.typed(hold) + "\n"
		lines += "\na.hold = hold"
	}
	methods := ""
	if has["lost"] {
		fields += "lost <-chan struct{}\n"
		lines += "\na.lost = lost"
		methods = "// Lost is closed when the hold is lost.\nfunc (a *scanNAME) Lost() <-chan struct{} { return a.lost }\n\n"
	}
	taking, giving, contract := "Lock", "Unlock", "Locker"
	switch w.g.kind {
	case "semaphore":
		taking, giving, contract = "Acquire", "Release", "Permitter"
	case "rwlock":
		contract = "RWLocker"
		methods += w.call("RLock", w.g.asks) + w.gives("RUnlock", find(w.g.t, unreads), nil, "")
	}
	also := ""
	if finishes.MatchString(w.g.give.Name()) {
		also = "a.made = nil\n" // it is used once
	}
	begin := "func (a *scanNAME) " + taking + "(ctx context.Context) error {\nmade, err := a.get()\nif err != nil {\nreturn scanError(err)\n}\n"
	repeats := has["ok"] || tries.MatchString(take.Name())
	switch {
	case repeats: // it is called until it says yes
		w.imported("time", "time")
		yes, lacks := []string{}, ""
		if has["err"] {
			yes, lacks = append(yes, "err == nil"), "if err := scanError(err); errors.Is(err, zk.ErrNoNode) {\nreturn err // it lacks what it is made on\n}\n"
		}
		if has["ok"] {
			yes = append(yes, "ok")
		}
		if len(yes) == 0 {
			return ""
		}
		lines = "for {\n" + lines + "\nif " + strings.Join(yes, " && ") + " {\nreturn nil\n}\n" + lacks + "select {\ncase <-time.After(time.Second):\ncase <-ctx.Done():\nreturn ctx.Err()\n}\n}"
	case has["err"]:
		if has["lost"] {
			lines += "\nif err == nil && lost == nil {\nreturn errors.New(\"it was given up\")\n}"
		}
		lines = strings.Replace(lines, "err := ", "err = ", 1) + "\nreturn scanError(err)"
		if strings.Trim(list, "_, ") != "err" {
			lines = strings.Replace(lines, "err = ", "err := ", 1)
		}
	default:
		lines += "\nreturn nil"
	}
	rest := "type scanNAME struct {\nscanned[" + w.typed(w.g.t) + "]\n" + fields + "}\n\n" + begin + lines + "\n}\n\n" +
		w.gives(giving, w.g.give, hold, also) + methods
	waived := []string{}
	if !ends && !repeats {
		waived = append(waived, "hang")
	}
	return w.of(w.g.kind, contract, rest, waived...)
}

// guard is a lock that is held while a function runs.
func (w *writer) guard() string {
	w.called = "entered <- struct{}{}\n<-left\nreturn"
	call, ends := w.invoke(w.g.take, "run", nil)
	waived := []string{}
	if !ends {
		waived = append(waived, "hang")
	}
	return w.of("lock", "Locker", strings.NewReplacer("TYPE", w.typed(w.g.t), "CALL", call).Replace(`// scanNAME holds it while what it runs waits.
type scanNAME struct {
	scanned[TYPE]
	left chan struct{}
	over chan error
}

func (a *scanNAME) Lock(ctx context.Context) error {
	made, err := a.get()
	if err != nil {
		return scanError(err)
	}
	run, stop := context.WithCancel(context.Background())
	entered, left, over := make(chan struct{}, 100), make(chan struct{}), make(chan error, 1)
	go func() {
		defer stop()
		_ = run
		over <- CALL
	}()
	select {
	case <-entered:
		a.left, a.over = left, over
		return nil
	case err = <-over:
	case <-ctx.Done():
		stop()
		close(left)
		err = <-over
	}
	if err == nil {
		err = errors.New("it was not called")
	}
	return scanError(err)
}

func (a *scanNAME) Unlock(context.Context) error {
	close(a.left)
	return scanGiven(<-a.over)
}

`), waived...)
}

// unique is what an instance does that draws what is given out once: numbers, or the right to do something.
func (w *writer) unique() string {
	w.imported("fmt", "fmt")
	draw, times := "", 1
	if w.g.kind == "once" {
		w.called = "what = \"the only run\"\nreturn"
		call, _ := w.invoke(w.g.take, "ctx", nil)
		draw = "err = " + call + "\nreturn what, err"
	} else {
		call, _ := w.invoke(w.g.take, "ctx", nil)
		list, has := results(w.g.take, map[string]string{"error": "err", number(w.g.take.Signature().Results()).String(): "n"})
		draw, times = assigned(list, call)+"\nreturn fmt.Sprint(n), "+map[bool]string{true: "err", false: "nil"}[has["err"]], 3
	}
	return fmt.Sprintf("for range %d {\nif _, err := i.Do(\"draw\", \"\", func(ctx context.Context) (what string, err error) {\n%s\n}); err != nil {\nreturn err\n}\n}\n", times, draw)
}

func (w *writer) election() string {
	asks := w.g.asks.Signature()
	if asks.Params().Len() > 0 || asks.Results().Len() != 1 || types.TypeString(asks.Results().At(0).Type(), nil) != "bool" {
		return ""
	}
	w.imported("context", "context")
	w.imported("time", "time")
	call, _ := w.invoke(w.g.take, "run", nil)
	list, has := results(w.g.take, map[string]string{"error": "err"})
	begun := assigned(list, call) + "\nfailed <- " + map[bool]string{true: "err", false: "nil"}[has["err"]]
	if strings.Contains(types.TypeString(w.g.take.Signature().Results(), nil), "chan") { // what it tells has to be read
		var names, reads []string
		for i := range w.g.take.Signature().Results().Len() {
			names = append(names, fmt.Sprint("told", i))
			reads = append(reads, fmt.Sprintf("go func() {\nfor range told%d {\n}\n}()", i))
		}
		begun = strings.Join(names, ", ") + " := " + call + "\n" + strings.Join(reads, "\n")
	}
	rest := `// scanNAME makes a new ` + w.g.name() + ` for each campaign.
type scanNAME struct {
	scanned[` + w.typed(w.g.t) + `]
	stop context.CancelFunc
}

func (a *scanNAME) Campaign(ctx context.Context) error {
	made, err := a.get()
	if err != nil {
		return scanError(err)
	}
	run, stop := context.WithCancel(context.Background())
	_, a.stop = run, stop
	failed := make(chan error, 1)
	go func() {
		` + begun + `
	}()
	for !made.` + w.g.asks.Name() + `() {
		select {
		case err := <-failed:
			if err != nil {
				stop()
				return scanError(err)
			}
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			a.Resign(context.Background())
			return ctx.Err()
		}
	}
	return nil
}

// IsOwner reports whether it leads.
func (a *scanNAME) IsOwner() bool { return a.made != nil && (*a.made).` + w.g.asks.Name() + `() }

` + w.gives("Resign", w.g.give, nil, "a.made = nil\na.stop()\n")
	return w.of("election", "Candidate", rest, "hang")
}

func (w *writer) queue() string {
	w.imported("context", "context")
	item := "data"
	stringly := func(f *types.Func, of func(*types.Signature) *types.Tuple) (is, fits bool) {
		for v := range of(f.Signature()).Variables() {
			switch types.TypeString(v.Type().Underlying(), nil) {
			case "string":
				return true, true
			case "[]byte", "[]uint8":
				return false, true
			}
		}
		return false, false
	}
	putsString, a := stringly(w.g.take, (*types.Signature).Params)
	getsString, b := stringly(w.g.give, (*types.Signature).Results)
	if !a || !b || w.g.give.Signature().Params().Len() > 1 {
		return ""
	}
	if putsString {
		item = "string(data)"
	}
	args := func(f *types.Func, item string) string {
		var all []string
		put := false
		for p := range f.Signature().Params().Variables() {
			switch text := types.TypeString(p.Type().Underlying(), nil); {
			case types.TypeString(p.Type(), nil) == "context.Context":
				all = append(all, "ctx")
			case !put && (text == "string" || strings.HasPrefix(text, "[]")):
				all, put = append(all, item), true
			case types.TypeString(p.Type(), nil) == "time.Duration":
				all = append(all, "0") // it is due at once
			default:
				all = append(all, w.value(p.Type(), p.Name(), f))
			}
		}
		return "made." + f.Name() + "(" + strings.Join(all, ", ") + ")"
	}
	put, has := results(w.g.take, map[string]string{"error": "err"})
	got, gotHas := results(w.g.give, map[string]string{"error": "err", "string": "data", "[]byte": "data"})
	if !has["err"] || !gotHas["err"] {
		return ""
	}
	data := "data"
	if getsString {
		data = "[]byte(data)"
	}
	says := ""
	if empty := w.empties[nameOf(w.g.give)]; empty != nil && w.sees(empty) {
		says = " || errors.Is(err, " + w.object(empty) + ")"
	} else {
		w.unknown = append(w.unknown, "how "+w.g.give.Name()+" says that there is nothing")
	}
	rest := "type scanNAME struct {\nscanned[" + w.typed(w.g.t) + "]\n}\n\nfunc (a *scanNAME) Offer(ctx context.Context, data []byte) error {\nmade, err := a.get()\nif err != nil {\nreturn scanError(err)\n}\n" +
		strings.Replace(assigned(put, args(w.g.take, item)), "err := ", "err = ", 1) + "\nreturn scanError(err)\n}\n\n" +
		"func (a *scanNAME) Poll(ctx context.Context) ([]byte, error) {\nmade, err := a.get()\nif err != nil {\nreturn nil, scanError(err)\n}\n" +
		assigned(got, args(w.g.give, "")) + "\nif err == nil && len(data) == 0" + says + " {\nreturn nil, " +
		w.imported("github.com/zktorture/zktorture/recipes", "recipes") +
		".ErrEmpty\n}\nreturn " + data + ", scanError(err)" + map[bool]string{true: " // TODO(scan): recipes.ErrEmpty when there is nothing"}[says == ""] + "\n}\n\n"
	return w.of("queue", "Queuer", rest, "hang", "stale-peek", "progress")
}

// service is a test of a service: what is made runs, or is registered, until its context ends.
func (w *writer) service() string {
	w.imported("context", "context")
	w.imported("testing", "testing")
	service := w.imported("github.com/zktorture/zktorture/workload/service", "service")
	body := ""
	deferred := ""
	for m := range types.NewMethodSet(w.g.t).Methods() {
		f := m.Obj().(*types.Func)
		if finishes.MatchString(f.Name()) && f.Signature().Params().Len() == 0 {
			deferred = "defer made." + f.Name() + "()\n"
		}
	}
	says, tested := "", "scanTest"
	if broken := map[string]string{"once": "done-again", "ids": "lost-update"}[w.g.kind]; broken != "" {
		says, body = "Invariants: []"+service+".Invariant{{Name: \""+broken+"\", Holds: scanUnique}}, ", w.unique()
		tested = map[string]string{"once": "scanRace", "ids": tested}[w.g.kind]
	}
	if w.g.take != nil && body == "" {
		call, _ := w.invoke(w.g.take, "ctx", nil)
		list, has := results(w.g.take, map[string]string{"error": "err"})
		switch {
		case w.g.kind == "registry" && has["err"]:
			body = strings.Replace(assigned(list, call), "err := ", "err = ", 1) + "\nif err != nil {\nreturn err\n}\n"
			if list != "err" {
				body = strings.Replace(body, "err = ", "err := ", 1)
			}
		case w.g.kind == "registry":
			body = assigned(list, call) + "\n"
		case has["err"]:
			body = "failed := make(chan error, 1)\ngo func() {\n" + assigned(list, call) + "\nif err != nil {\nfailed <- err\n}\n}()\n" +
				"select {\ncase err := <-failed:\nif ctx.Err() == nil {\nreturn err\n}\ncase <-ctx.Done():\n}\n"
		default:
			body = "go func() {\n" + assigned(list, call) + "\n}()\n"
		}
	}
	if w.g.kind == "registry" && w.g.joins() && strings.Contains(strings.Join(w.lines, "")+body, "i.Number") {
		says, body = "Registers: true, ", body+"i.Ready()\n"
	}
	if w.g.kind == "cache" {
		says = "Follows: []string{path}, "
		body = fmt.Sprintf("if i.Number == 0 {\ngo scanChanges(ctx, i.Servers, path, %v)\n}\n", slices.Contains(w.g.watches, "ChildrenW")) + body
	}
	body += "<-ctx.Done()\n"
	if w.g.kind == "registry" && w.g.give != nil {
		call, _ := w.invoke(w.g.give, "context.Background()", nil)
		list, _ := results(w.g.give, nil)
		body += assigned(list, call) + "\n"
	}
	if w.taken["conn"] {
		deferred = "defer conn.Close()\n" + deferred
	}
	lines := strings.Join(w.lines, "\n")
	whole := lines + body
	used := ""
	if strings.Contains(whole, "path") {
		used = "const path = \"/scan\"\n"
	}
	return fmt.Sprintf("// TestScanNAME tortures %s as a whole service: what is made runs in each instance.\nfunc TestScanNAME(t *testing.T) {\n%s%s(t, func(o ...workload.Option) *workload.Workload { return %s.Service{%sStart: func(ctx context.Context, i *%s.Instance) error {\n%s\nmade, err := func() (made %s, err error) {\n%s\n}()\nif err != nil {\nreturn err\n}\n%s_ = made\n%sreturn nil\n}}.Workload(%s...) })\n}\n\n",
		w.g.name(), used, tested, service, says, service, strings.Join(w.eager, "\n"), w.typed(w.g.t), lines, deferred, body,
		map[bool]string{false: "o", true: "append(o, workload.SetUp(func(c recipes.Conn, _ string) error { return scanThere(c, \"/scan\") }))"}[w.g.present])
}

// helpers are what the tests of a file share.
const helpers = `// scanned is what a test makes when it is first needed, and again after an error.
type scanned[T any] struct {
	path, id string // of what is shared, and of who shares it
	make     func() (T, error)
	made *T
}

// get makes it.
func (s *scanned[T]) get() (made T, err error) {
	if s.made != nil {
		return *s.made, nil
	}
	if made, err = s.make(); err == nil {
		s.made = &made
	}
	return made, err
}

// scanError is an error of any client library as one of go-zookeeper, by which it is judged.
func scanError(err error) error {
	for _, known := range []error{zk.ErrConnectionClosed, zk.ErrClosing, zk.ErrSessionExpired, zk.ErrNoServer, zk.ErrNoNode,
		zk.ErrNodeExists, zk.ErrNotEmpty, zk.ErrBadVersion} {
		if err != nil && !errors.Is(err, known) && strings.Contains(err.Error(), known.Error()) {
			return fmt.Errorf("%w: %w", known, err)
		}
	}
	return err
}

// scanGiven is the error of a release: some say that there was nothing to release.
func scanGiven(err error) error {
	if err = scanError(err); errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNotLocked) {
		return fmt.Errorf("%w: %w", recipes.ErrLost, err)
	}
	return err
}

// scanThere makes a znode at a path.
func scanThere(c recipes.Conn, path string) error {
	_, err := c.Create(path, []byte("0"), 0, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// scanChanges changes a znode, or what is below it, some times.
func scanChanges(ctx context.Context, servers []string, path string, below bool) {
	conn, _, err := zk.Connect(servers, 10*time.Second)
	if err != nil {
		return
	}
	defer conn.Close()
	for n := range 3 {
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
			return
		}
		if below {
			conn.Create(fmt.Sprint(path, "/", n), nil, 0, zk.WorldACL(zk.PermAll))
		} else {
			conn.Set(path, fmt.Append(nil, n), -1)
		}
	}
}

// scanUnique reports what was given out twice.
func scanUnique(r service.Rest) error {
	given := map[string]bool{}
	for _, op := range r.Done {
		switch {
		case op.Err != nil || op.Result == "":
		case given[op.Result]:
			return fmt.Errorf("%q was given out twice", op.Result)
		default:
			given[op.Result] = true
		}
	}
	return nil
}

// scanKey is a path as a key of a store, without a slash.
func scanKey(path string) string {
	return path[strings.LastIndex(path, "/")+1:]
}

// scanStop is closed when a context ends.
func scanStop(ctx context.Context) chan struct{} {
	stop := make(chan struct{})
	context.AfterFunc(ctx, func() { close(stop) })
	return stop
}

// scanTest tries the test itself first: what fails alone, without a fault, is mostly its own. What is in doubt is judged
// last, of one client that only loses its connection.
func scanTest(t *testing.T, of func(...workload.Option) *workload.Workload, doubts ...string) {
	t.Helper()
	if t.Run("alone", func(t *testing.T) {
		sim.Check(t, of(workload.Waive(doubts...)), sim.WithClients(1), sim.WithFaults("none"), sim.WithEpisodes(10))
	}) && t.Run("faults", func(t *testing.T) {
		sim.Check(t, of(workload.Waive(append(doubts, "unusable")...)))
	}) && doubts != nil {
		t.Run("doubt", func(t *testing.T) { sim.Check(t, of(workload.Waive("unusable")), sim.WithClients(1), sim.WithFaults("loss")) })
	}
}

// scanRace runs a test with nothing but other users: of a run that a fault has ended it is not known whether it counts.
func scanRace(t *testing.T, of func(...workload.Option) *workload.Workload) {
	t.Helper()
	if t.Run("alone", func(t *testing.T) {
		sim.Check(t, of(), sim.WithClients(1), sim.WithFaults("none"), sim.WithEpisodes(10))
	}) {
		t.Run("race", func(t *testing.T) { sim.Check(t, of(), sim.WithFaults("none")) })
	}
}

`

// text is the file.
func (f *file) text() ([]byte, error) {
	var body strings.Builder
	for _, t := range f.tests {
		body.WriteString(t.text)
	}
	used := ""
	for _, helper := range slices.Backward(strings.SplitAfter(helpers, "\n}\n\n")) {
		name, _, _ := strings.Cut(strings.TrimPrefix(helper, "// "), " ")
		if name != "" && strings.Contains(body.String()+used, strings.Replace(name, "get", ".get()", 1)) {
			used = helper + used
		}
	}
	text := body.String() + used
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\n// Written by torture scan, to be changed: it is not written again. TODO(scan) marks what it could not know.\n\nimport (\n", f.pkg)
	for _, p := range slices.Sorted(maps.Keys(f.imports)) {
		switch name := f.imports[p]; {
		case !regexp.MustCompile(`\b` + name + `\.`).MatchString(text):
		case path.Base(p) == name:
			fmt.Fprintf(&b, "\t%q\n", p)
		default:
			fmt.Fprintf(&b, "\t%s %q\n", name, p)
		}
	}
	b.WriteString(")\n\n" + text)
	return format.Source([]byte(b.String()))
}
