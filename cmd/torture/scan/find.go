package scan

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// near matches the import paths of packages that may be client libraries, or wrap one.
var near = regexp.MustCompile(`(?i)zookeeper|(^|/)(go)?-?zk[a-z]*($|/)|curator|kazoo`)

// isClient reports whether a package is a client library: go-zookeeper, or a fork of it, by what its Conn can do.
func isClient(p *types.Package) bool {
	if p == nil || p.Scope().Lookup("Connect") == nil {
		return false
	}
	conn, is := p.Scope().Lookup("Conn").(*types.TypeName)
	return is && speaks(types.NewPointer(conn.Type()))
}

// speaks reports whether a type has the methods of a connection.
func speaks(t types.Type) bool {
	methods := types.NewMethodSet(t)
	return !slices.ContainsFunc([]string{"Create", "Delete", "Get", "Children"}, func(name string) bool {
		return methods.Lookup(nil, name) == nil
	})
}

// sources is what is known of the functions of some packages.
type sources struct {
	packages []*packages.Package
	bodies   map[string]*ast.FuncDecl // by full names, as all here
	returns  map[string]types.Type    // what a function returns as an interface
	calls    map[string][]*types.Func
	empties  map[string]*types.Var // the error by which a function may say that there is nothing
	reaches  map[string]bool       // the functions that reach a client library
	creates  map[string][]string   // what they create themselves: ephemeral, sequential
}

func read(all []*packages.Package) *sources {
	s := &sources{packages: all, bodies: map[string]*ast.FuncDecl{},
		returns: map[string]types.Type{}, calls: map[string][]*types.Func{}, empties: map[string]*types.Var{}, reaches: map[string]bool{}, creates: map[string][]string{}}
	for _, p := range all {
		for _, file := range p.Syntax {
			for _, d := range file.Decls {
				if f, is := d.(*ast.FuncDecl); is && f.Body != nil {
					s.readFunction(p, f)
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for name, calls := range s.calls {
			if !s.reaches[name] && slices.ContainsFunc(calls, s.reach) {
				s.reaches[name], changed = true, true
			}
		}
	}
	return s
}

func (s *sources) readFunction(p *packages.Package, f *ast.FuncDecl) {
	object, is := p.TypesInfo.Defs[f.Name].(*types.Func)
	if !is {
		return
	}
	name := object.FullName()
	s.bodies[name] = f
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			switch used := p.TypesInfo.Uses[n].(type) {
			case *types.Func:
				s.calls[name] = append(s.calls[name], used)
			case *types.Var:
				if used.Pkg() != nil && used.Parent() == used.Pkg().Scope() && !isClient(used.Pkg()) && likeEmpty.MatchString(used.Name()) {
					s.empties[name] = used
				}
			}
		case *ast.ReturnStmt:
			if len(n.Results) == 0 {
				break
			}
			if t := p.TypesInfo.TypeOf(n.Results[0]); t != nil && named(t) != nil && !types.IsInterface(t) && returned(object) {
				s.returns[name] = t
			}
		case *ast.CallExpr:
			s.creates[name] = append(s.creates[name], created(p.TypesInfo, n)...)
		}
		return true
	})
}

// returned reports whether the first result of a function is an interface other than error.
func returned(f *types.Func) bool {
	results := f.Signature().Results()
	return results.Len() > 0 && types.IsInterface(results.At(0).Type()) && types.TypeString(results.At(0).Type(), nil) != "error"
}

// gives is the type of the first result of a function, as far as its body shows it.
func (s *sources) gives(f *types.Func, sees func(types.Object) bool) types.Type {
	declared := f.Signature().Results().At(0).Type()
	if t := s.returns[f.FullName()]; t != nil && sees(named(t)) && types.AssignableTo(t, declared) {
		return t
	}
	return declared
}

// created says what a call creates, by its name or its flags.
func created(info *types.Info, call *ast.CallExpr) []string {
	called, is := call.Fun.(*ast.SelectorExpr)
	switch {
	case !is:
		return nil
	case called.Sel.Name == "CreateProtectedEphemeralSequential":
		return []string{"ephemeral sequential"}
	case called.Sel.Name != "Create" || len(call.Args) != 4:
		return nil
	}
	flags := info.Types[call.Args[2]].Value
	if flags == nil || flags.Kind() != constant.Int {
		return nil
	}
	n, _ := constant.Int64Val(flags)
	return [][]string{0: {"persistent"}, 1: {"ephemeral"}, 2: {"sequential"}, 3: {"ephemeral sequential"}}[n&3]
}

// reach reports whether a function reaches a client library: as its own, by another that does, or out of sight, where its
// package says by its path that it wraps one. A method of an interface does if one of the same name here does.
func (s *sources) reach(f *types.Func) bool {
	if f.Pkg() == nil {
		return false
	}
	receiver := f.Signature().Recv()
	if s.reaches[f.FullName()] || isClient(f.Pkg()) && (f.Name() == "Connect" || receiver != nil && isPointer(receiver.Type())) {
		return true // a Conn's, or a Lock's
	}
	if receiver == nil {
		return s.bodies[f.FullName()] == nil && s.wraps(f.Pkg())
	}
	contract, is := receiver.Type().Underlying().(*types.Interface)
	if !is {
		return s.bodies[f.FullName()] == nil && s.wraps(f.Pkg())
	}
	return speaks(contract) || slices.ContainsFunc(s.packages, func(p *packages.Package) bool {
		return slices.ContainsFunc(p.Types.Scope().Names(), func(name string) bool {
			t, is := p.Types.Scope().Lookup(name).(*types.TypeName)
			return is && !types.IsInterface(t.Type()) && types.Implements(types.NewPointer(t.Type()), contract) &&
				s.reaches["(*"+t.Pkg().Path()+"."+t.Name()+")."+f.Name()]
		})
	})
}

func isPointer(t types.Type) bool {
	_, is := types.Unalias(t).(*types.Pointer)
	return is
}

// wraps reports whether a package that is not read wraps a client library, as its path and its imports say.
func (s *sources) wraps(p *types.Package) bool {
	return near.MatchString(p.Path()) && !isClient(p) && slices.ContainsFunc(p.Imports(), isClient)
}

// makes are all that a function creates, itself and by those that it calls.
func (s *sources) makes(f *types.Func) []string {
	all, seen := map[string]bool{}, map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, what := range s.creates[name] {
			all[what] = true
		}
		for _, called := range s.calls[name] {
			visit(called.FullName())
		}
	}
	visit(f.FullName())
	return slices.Sorted(maps.Keys(all))
}

// keysOf are the constant keys that a function looks up in a parameter of type map[string]string.
func (s *sources) keysOf(f *types.Func, param string) (keys []string) {
	body := s.bodies[f.FullName()]
	if body == nil {
		return nil
	}
	ast.Inspect(body, func(n ast.Node) bool {
		if index, is := n.(*ast.IndexExpr); is {
			of, named := index.X.(*ast.Ident)
			key, literal := index.Index.(*ast.BasicLit)
			if named && literal && of.Name == param && key.Kind == token.STRING {
				keys = append(keys, strings.Trim(key.Value, "\"`"))
			}
		}
		return true
	})
	slices.Sort(keys)
	return slices.Compact(keys)
}

// target is what can be tested: a type, and what makes one.
type target struct {
	of               *packages.Package // in which the test is written
	t                types.Type
	by               *types.Func // a function or a method that makes one; nil: a composite literal
	kind             string      // one of kinds
	take, give, asks *types.Func
	creates          []string
	bare             bool // its path is given as a key, without a slash
	absent           bool // nothing is at its path to begin with
	present          bool // there always is a znode
}

// name is the type's, as a part of a name.
func (g *target) name() string { return named(g.t).Name() }

// named is the name of a type or of what it points to; nil if it has none.
func named(t types.Type) *types.TypeName {
	if p, is := types.Unalias(t).(*types.Pointer); is {
		t = p.Elem()
	}
	if n, is := types.Unalias(t).(*types.Named); is {
		return n.Obj()
	}
	return nil
}

// targets finds what a package has that talks to ZooKeeper: for each way to make it the kind that its methods fit.
func (s *sources) targets(p *packages.Package, sees func(types.Object) bool) (all []*target) {
	add := func(t types.Type, by *types.Func) {
		g := &target{of: p, t: t, by: by}
		n := named(t)
		if n != nil && n.Pkg() != nil && sees(n) && !(isClient(n.Pkg()) && speaks(t)) && s.classify(g) {
			all = append(all, g)
		}
	}
	for _, f := range functionsOf(p.Types) {
		if sees(f) && f.Signature().TypeParams() == nil {
			for i, result := range slices.Collect(f.Signature().Results().Variables()) {
				t := result.Type()
				if i == 0 {
					t = s.gives(f, sees)
				}
				add(t, f)
			}
		}
	}
	made := func(n *types.TypeName) bool {
		return slices.ContainsFunc(all, func(g *target) bool { return named(g.t) == n })
	}
	for _, name := range p.Types.Scope().Names() {
		if n, is := p.Types.Scope().Lookup(name).(*types.TypeName); is && !n.IsAlias() {
			if _, is := n.Type().Underlying().(*types.Struct); is && !made(n) {
				add(types.NewPointer(n.Type()), nil)
			}
		}
	}
	return all
}

// functionsOf are a package's functions, and the methods of its types.
func functionsOf(p *types.Package) (all []*types.Func) {
	for _, name := range p.Scope().Names() {
		switch o := p.Scope().Lookup(name).(type) {
		case *types.Func:
			all = append(all, o)
		case *types.TypeName:
			if n, is := o.Type().(*types.Named); is && n.TypeParams() == nil {
				all = slices.AppendSeq(all, n.Methods())
			}
		}
	}
	return all
}

// Roles of methods, by their names.
var (
	takes    = regexp.MustCompile(`^(Lock|Acquire)(WithData|Lock|WithContext|Context|Wait)?$|^(TryLock|TryAcquire|Try|Claim|ClaimPartition)$`)
	gives    = regexp.MustCompile(`^(Un[lL]ock|Release)(Lock|WithContext|Context|Partition)?$`)
	stands   = regexp.MustCompile(`^(Campaign|Elect|RunForElection|ElectLeader|Election|StartElection|BecomeLeader|Start|Run|Join|AcquireLeadership)$`)
	resigns  = regexp.MustCompile(`^(Resign|Stop|Close|Leave|EndElection|Abdicate|Relinquish|Quit|Shutdown|Interrupt)$`)
	leads    = regexp.MustCompile(`^(IsLeader|IsMaster|AmILeader|HasLeadership|HasLock|IsOwner|Leading|LockAcquired)$`)
	puts     = regexp.MustCompile(`^(Offer|Put|Push|Enqueue|Produce)$`)
	polls    = regexp.MustCompile(`^(Poll|Take|Pop|Dequeue|Consume)$`)
	counts   = regexp.MustCompile(`^(Add|Inc|Incr|IncrBy|Increment|IncrementBy|Increase)$`)
	tells    = regexp.MustCompile(`^(Get|Value|Count|Load|Read|Current|Sum)$`)
	enters   = regexp.MustCompile(`^Enter$`)
	leaves   = regexp.MustCompile(`^(Leave|Exit)$`)
	enlists  = regexp.MustCompile(`^(Register|RegisterService|RegisterInstance|Announce|Join|AddNode|Registry)$`)
	delists  = regexp.MustCompile(`^(Deregister|Unregister|UnRegister|DeRegister|UnregisterService|DeregisterInstance|Leave|Withdraw)$`)
	begins   = regexp.MustCompile(`^(Run|Start|Watch|Serve|Init|Listen|Loop|Create|Connect|Open)$`)
	finishes = regexp.MustCompile(`^(Stop|Close|Shutdown)$`)

	likeEmpty     = regexp.MustCompile(`^[eE]rr.*(Empty|Nothing|No[A-Z][a-z]+)|Empty$`)
	likeSemaphore = regexp.MustCompile(`(?i)semaphore|^sem$|permits|limiter`)
	likeCount     = regexp.MustCompile(`(?i)^n$|limit|max|permit|size|count|lease|slot|capacity|part(y|ies)|member|num|total`)
)

// kinds are the roles of a kind's methods: what is taken, what gives it back, what says that it is held.
var kinds = []struct {
	name             string
	take, give, asks *regexp.Regexp
}{
	{"semaphore", takes, gives, nil}, {"lock", takes, gives, nil}, {"election", stands, resigns, leads}, {"queue", puts, polls, nil},
	{"registry", enlists, delists, nil}, {"doublebarrier", enters, leaves, nil}, {"counter", counts, tells, nil},
	{"lock", takes, finishes, nil}, {"service", begins, finishes, nil},
}

// classify says which kind a type's methods fit, and whether they reach ZooKeeper.
func (s *sources) classify(g *target) bool {
	made := g.by != nil && s.reaches[g.by.FullName()]
	if g.by != nil && g.by.Signature().Recv() != nil {
		made = made || s.touches(g.by.Signature().Recv().Type())
	}
	find := func(role *regexp.Regexp) *types.Func {
		if role == nil {
			return nil
		}
		var found *types.Func
		for m := range types.NewMethodSet(g.t).Methods() {
			if f := m.Obj().(*types.Func); role.MatchString(f.Name()) && f.Exported() &&
				(found == nil || len(f.Name()) < len(found.Name())) {
				found = f
			}
		}
		return found
	}
	talks := func(f *types.Func) bool { return f != nil && (s.reach(f) || types.IsInterface(g.t) && made) }
	for _, k := range kinds {
		g.take, g.give, g.asks = find(k.take), find(k.give), find(k.asks)
		fits := g.take != nil && g.give != nil && (talks(g.take) || k.name == "election" && talks(g.asks))
		switch k.name {
		case "semaphore":
			fits = fits && likeSemaphore.MatchString(g.name()) && g.counts()
		case "lock": // of how many there are nothing is known
			fits = fits && !likeSemaphore.MatchString(g.name())
		case "doublebarrier":
			fits = fits && g.counts()
		case "counter":
			fits = fits && number(g.take.Signature().Params()) != nil && number(g.give.Signature().Results()) != nil
		case "service":
			if g.take != nil && !endless(g.take) {
				g.take = nil
			}
			fits = talks(g.take) || made && !types.IsInterface(g.t) && s.touches(g.t)
		}
		if fits && (k.asks == nil || g.asks != nil) {
			g.kind = k.name
			for _, f := range []*types.Func{g.by, g.take} {
				if f != nil {
					g.creates = append(g.creates, s.makes(f)...)
				}
			}
			slices.Sort(g.creates)
			g.creates = slices.Compact(g.creates)
			return true
		}
	}
	return false
}

// counts reports whether the constructor of a target takes a number of users.
func (g *target) counts() bool {
	return g.by != nil && slices.ContainsFunc(slices.Collect(g.by.Signature().Params().Variables()), func(p *types.Var) bool {
		b, is := p.Type().(*types.Basic)
		return is && b.Info()&types.IsInteger != 0 && likeCount.MatchString(p.Name())
	})
}

// number is the first integer of a list; nil if there is none.
func number(of *types.Tuple) types.Type {
	for v := range of.Variables() {
		if b, is := v.Type().(*types.Basic); is && b.Info()&types.IsInteger != 0 {
			return b
		}
	}
	return nil
}

// endless reports whether a method takes nothing, or what ends it.
func endless(f *types.Func) bool {
	for p := range f.Signature().Params().Variables() {
		if _, channel := p.Type().Underlying().(*types.Chan); !channel && types.TypeString(p.Type(), nil) != "context.Context" {
			return false
		}
	}
	return true
}

// touches reports whether a method of a type reaches ZooKeeper.
func (s *sources) touches(t types.Type) bool {
	for m := range types.NewMethodSet(t).Methods() {
		if s.reach(m.Obj().(*types.Func)) {
			return true
		}
	}
	return false
}

// best keeps of the targets of each type that whose maker needs the fewest guesses; cost says how many.
func best(all []*target, cost func(*target) int) (kept []*target) {
	costs := map[*target]int{}
	for _, g := range all {
		costs[g] = cost(g)
	}
	slices.SortStableFunc(all, func(a, b *target) int { return cmp.Compare(costs[a], costs[b]) })
	seen := map[string]bool{}
	for _, g := range all {
		if n := named(g.t); !seen[n.Pkg().Path()+"."+n.Name()] {
			seen[n.Pkg().Path()+"."+n.Name()] = true
			kept = append(kept, g)
		}
	}
	slices.SortStableFunc(kept, func(a, b *target) int {
		return cmp.Or(cmp.Compare(a.of.PkgPath, b.of.PkgPath), cmp.Compare(a.name(), b.name()))
	})
	return kept
}
