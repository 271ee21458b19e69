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

// request matches the methods of a connection that ask a server for something, and not SetLogger.
var request = regexp.MustCompile(`^(Create.*|Delete|Get.*|Set|SetACL|Exists.*|Children.*|Multi.*|Sync|AddWatch)$`)

// behind is the client library whose connection fits an interface of which some methods are requests; nil if there is none.
func (s *sources) behind(contract *types.Interface) *types.Package {
	if !slices.ContainsFunc(slices.Collect(contract.Methods()), func(f *types.Func) bool { return request.MatchString(f.Name()) }) {
		return nil
	}
	for _, p := range s.packages {
		for _, imported := range append(p.Types.Imports(), p.Types) {
			if isClient(imported) && types.Implements(types.NewPointer(imported.Scope().Lookup("Conn").Type()), contract) {
				return imported
			}
		}
	}
	return nil
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
	watches  map[string][]string   // what they watch themselves: GetW
}

func read(all []*packages.Package) *sources {
	s := &sources{packages: all, bodies: map[string]*ast.FuncDecl{},
		returns: map[string]types.Type{}, calls: map[string][]*types.Func{}, empties: map[string]*types.Var{}, reaches: map[string]bool{}, creates: map[string][]string{}, watches: map[string][]string{}}
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
	name := nameOf(object)
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
			if called, is := n.Fun.(*ast.SelectorExpr); is && watch.MatchString(called.Sel.Name) {
				s.watches[name] = append(s.watches[name], called.Sel.Name)
			}
		}
		return true
	})
}

// nameOf is a function's full name, whatever the types for its type parameters.
func nameOf(f *types.Func) string { return typeArguments.ReplaceAllString(f.FullName(), "") }

var typeArguments = regexp.MustCompile(`\[.*\]`)

// returned reports whether the first result of a function is an interface other than error.
func returned(f *types.Func) bool {
	results := f.Signature().Results()
	return results.Len() > 0 && types.IsInterface(results.At(0).Type()) && types.TypeString(results.At(0).Type(), nil) != "error"
}

// gives is the type of the first result of a function, as far as its body shows it.
func (s *sources) gives(f *types.Func, sees func(types.Object) bool) types.Type {
	declared := f.Signature().Results().At(0).Type()
	if t := s.returns[nameOf(f)]; t != nil && sees(named(t)) && types.AssignableTo(t, declared) {
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
	if s.reaches[nameOf(f)] || isClient(f.Pkg()) && (f.Name() == "Connect" || receiver != nil && isPointer(receiver.Type())) {
		return true // a Conn's, or a Lock's
	}
	if receiver == nil {
		return s.bodies[nameOf(f)] == nil && s.wraps(f.Pkg())
	}
	contract, is := receiver.Type().Underlying().(*types.Interface)
	if !is {
		return s.bodies[nameOf(f)] == nil && s.wraps(f.Pkg())
	}
	return speaks(contract) || s.behind(contract) != nil || slices.ContainsFunc(s.packages, func(p *packages.Package) bool {
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

// all are what is known of a function, itself and of those that it calls.
func (s *sources) all(f *types.Func, known map[string][]string) []string {
	all, seen := map[string]bool{}, map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, what := range known[name] {
			all[what] = true
		}
		for _, called := range s.calls[name] {
			visit(nameOf(called))
		}
	}
	visit(nameOf(f))
	return slices.Sorted(maps.Keys(all))
}

// keysOf are the constant keys that a function looks up in a parameter of type map[string]string.
func (s *sources) keysOf(f *types.Func, param string) (keys []string) {
	body := s.bodies[nameOf(f)]
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
	hold             types.Type // what take returns and give is a method of; nil: give is the target's own
	creates, watches []string
	bare             bool // its path is given as a key, without a slash, or a key is a path
	absent           bool // nothing is at its path to begin with
	present          bool // there always is a znode
	moved            bool // it was tried otherwise
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
		if sees(f) {
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
		if n, is := p.Types.Scope().Lookup(name).(*types.TypeName); is && !n.IsAlias() && !generic(n.Type()) {
			if _, is := n.Type().Underlying().(*types.Struct); is && !made(n) {
				add(types.NewPointer(n.Type()), nil)
			}
		}
	}
	return all
}

// functionsOf are a package's functions, but those that make doubles for tests, and the methods of its types. What is
// generic is with a type for each of its parameters, the first one that fits.
func functionsOf(p *types.Package) (all []*types.Func) {
	for _, name := range p.Scope().Names() {
		switch o := p.Scope().Lookup(name).(type) {
		case *types.Func:
			if f := instance(o); f != nil && !double.MatchString(name) {
				all = append(all, f)
			}
		case *types.TypeName:
			if n, is := o.Type().(*types.Named); is && !generic(n) {
				all = slices.AppendSeq(all, n.Methods())
			}
		}
	}
	return all
}

func generic(t types.Type) bool {
	n, is := t.(*types.Named)
	return is && n.TypeParams() != nil
}

// instance is a function itself, or one of a function with type parameters; nil if neither type fits one.
func instance(f *types.Func) *types.Func {
	var args []types.Type
	var names []string
	for p := range f.Signature().TypeParams().TypeParams() {
		kind := types.String
		if !types.Satisfies(types.Typ[kind], p.Constraint().Underlying().(*types.Interface)) {
			kind = types.Int
		}
		args, names = append(args, types.Typ[kind]), append(names, types.Typ[kind].Name())
	}
	if args == nil {
		return f
	}
	of, err := types.Instantiate(nil, f.Signature(), args, true)
	if err != nil {
		return nil
	}
	return types.NewFunc(f.Pos(), f.Pkg(), f.Name()+"["+strings.Join(names, ", ")+"]", of.(*types.Signature))
}

// Roles of methods, by their names.
var (
	takes    = regexp.MustCompile(`^(Lock|Acquire)(WithData|Lock|WithContext|Context|Wait)?$|^(Try)?(Lock|Acquire)(For|Within|Timeout|WithTimeout)$|^(TryLock|TryAcquire|Try|Claim|ClaimPartition)$`)
	gives    = regexp.MustCompile(`^(Un[lL]ock|Release)(Lock|WithContext|Context|Partition)?$`)
	reads    = regexp.MustCompile(`^(RLock|ReadLock|LockRead)(WithContext|Context)?$`)
	unreads  = regexp.MustCompile(`^(RUnlock|ReadUnlock|UnlockRead)(WithContext|Context)?$`)
	returns  = regexp.MustCompile(`^(Return|Release|Free|Recycle|Give|Put)`)
	guards   = regexp.MustCompile(`^(With|Under|In|(Run|Do|Exec|Execute|Call)(With|Under|In)?)(The)?(Lock|Locked|Mutex|Exclusive|Exclusively)$|^(Exclusive|Exclusively|Synchronized|LockAndRun|LockAndDo)$`)
	unites   = regexp.MustCompile(`^(Do|DoOnce|Once|RunOnce|Init|Initialize|Ensure)$`)
	draws    = regexp.MustCompile(`^(Next|NextID|NextId|NewID|Allocate|AllocateID|Alloc|Generate|GenerateID|GetID|ID)$`)
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
	listens  = regexp.MustCompile(`^(Get|Value|Values|Data|Load|Current|Snapshot|Config|List|Members|Instances|Nodes|Hosts|Addresses|Endpoints|Services|Children|Peers|All)$`)
	begins   = regexp.MustCompile(`^(Run|Start|Watch|Serve|Init|Listen|Loop|Create|Connect|Open)$`)
	finishes = regexp.MustCompile(`^(Stop|Close|Shutdown)$`)

	double        = regexp.MustCompile(`Mock|Fake|Stub`)
	watch         = regexp.MustCompile(`^(Get|Children|Exists)W$`)
	likeRegistry  = regexp.MustCompile(`(?i)announce|regist|advertis|presence`)
	likeEmpty     = regexp.MustCompile(`^[eE]rr.*(Empty|Nothing|No[A-Z][a-z]+)|Empty$`)
	likeOnce      = regexp.MustCompile(`(?i)once|init`)
	likeNumbers   = regexp.MustCompile(`(?i)ids?( |$)|id(gen|alloc)|alloc|seq|ticket|snowflake|unique`)
	likeSemaphore = regexp.MustCompile(`(?i)semaphore|^sem$|permits|limiter`)
	likeCount     = regexp.MustCompile(`(?i)^n$|limit|max|permit|size|count|lease|slot|capacity|part(y|ies)|member|num|total`)
)

// kinds are the roles of a kind's methods: what is taken, what gives it back, what says that it is held; and what else
// a target has to be.
var kinds = []struct {
	name             string
	take, give, asks *regexp.Regexp
	suits            func(*sources, *target) bool
}{
	{"semaphore", takes, gives, nil, func(_ *sources, g *target) bool { return likeSemaphore.MatchString(g.name()) && g.counts() }},
	{"rwlock", takes, gives, reads, func(_ *sources, g *target) bool { return g.hold == nil && g.asks != nil && fails(g.asks) }},
	{"lock", takes, gives, nil, single},
	{"lock", guards, nil, nil, func(s *sources, g *target) bool { return single(s, g) && calledBack(g.take) != nil }},
	{"election", stands, resigns, leads, nil}, {"queue", puts, polls, nil, nil}, {"registry", enlists, delists, nil, nil},
	{"doublebarrier", enters, leaves, nil, func(_ *sources, g *target) bool { return g.counts() }},
	{"once", unites, nil, nil, func(_ *sources, g *target) bool {
		return likeOnce.MatchString(g.name()+g.take.Name()) && calledBack(g.take) != nil
	}},
	{"ids", draws, nil, nil, func(s *sources, g *target) bool { // what is given back, or goes with its session, is given out again
		return likeNumbers.MatchString(g.name()+" "+g.take.Name()) && number(g.take.Signature().Results()) != nil && endless(g.take) &&
			find(g.t, returns) == nil && !strings.Contains(strings.Join(s.all(g.take, s.creates), " "), "ephemeral")
	}},
	{"counter", counts, tells, nil, nil}, {"lock", takes, finishes, nil, single}, {"service", begins, finishes, nil, nil},
}

// single reports whether of a target there is one, as far as that is known.
func single(_ *sources, g *target) bool { return !likeSemaphore.MatchString(g.name()) }

// classify says which kind a type's methods fit, and whether they reach ZooKeeper.
func (s *sources) classify(g *target) bool {
	made := g.by != nil && s.reaches[nameOf(g.by)]
	if g.by != nil && g.by.Signature().Recv() != nil {
		made = made || s.touches(g.by.Signature().Recv().Type())
	}
	var told *types.Func
	talks := func(f *types.Func) bool { return f != nil && (s.reach(f) || types.IsInterface(g.t) && made) }
	for _, k := range kinds {
		g.take, g.give, g.asks, g.hold = find(g.t, k.take), find(g.t, k.give), find(g.t, k.asks), nil
		if g.take != nil && g.give == nil && k.give == gives {
			for r := range g.take.Signature().Results().Variables() {
				if give := find(r.Type(), gives); g.give == nil && give != nil {
					g.give, g.hold = give, r.Type()
				}
			}
		}
		fits := g.take != nil && (g.give != nil || k.give == nil) && (talks(g.take) || k.name == "election" && talks(g.asks)) && (k.suits == nil || k.suits(s, g))
		switch k.name {
		case "counter":
			if g.give != nil && number(g.give.Signature().Results()) == nil {
				g.give = nil
			}
			fits = talks(g.take) && (g.give != nil || number(g.take.Signature().Results()) != nil)
		case "service":
			if g.take != nil && !endless(g.take) {
				g.take = nil
			}
			told = find(g.t, listens) // of what it knows, perhaps
			caches := g.by != nil && told != nil && len(s.all(g.by, s.watches)) > 0
			fits = talks(g.take) || made && !types.IsInterface(g.t) && (s.touches(g.t) || caches)
		}
		if fits && (k.asks == nil || g.asks != nil) {
			g.kind = k.name
			for _, f := range []*types.Func{g.by, s.carriesOut(g.by, g.take)} {
				if f != nil {
					g.creates = append(g.creates, s.all(f, s.creates)...)
					g.watches = append(g.watches, s.all(f, s.watches)...)
				}
			}
			slices.Sort(g.creates)
			g.creates = slices.Compact(g.creates)
			switch {
			case g.kind != "service":
			case likeRegistry.MatchString(g.name()) && g.joins(): // as long as it is there
				g.kind, g.take, g.give = "registry", nil, nil
			case told != nil && !s.reach(told) && len(g.watches) > 0: // it has to follow what it tells of
				g.kind, g.present = "cache", true
			}
			g.absent = (g.kind == "lock" || g.kind == "election") && slices.Contains(g.creates, "ephemeral") // which is at its path, likely
			return true
		}
	}
	return false
}

// find is the method of a type that plays a role: the one of the shortest name; nil if there is none.
func find(t types.Type, role *regexp.Regexp) (found *types.Func) {
	if role == nil {
		return nil
	}
	for m := range types.NewMethodSet(t).Methods() {
		if f := m.Obj().(*types.Func); role.MatchString(f.Name()) && f.Exported() && (found == nil || len(f.Name()) < len(found.Name())) {
			found = f
		}
	}
	return found
}

// calledBack is the function that a function takes, if both return an error and nothing else, and there is one.
func calledBack(f *types.Func) (called *types.Signature) {
	for p := range f.Signature().Params().Variables() {
		if u, is := p.Type().Underlying().(*types.Signature); is && called == nil && fails(f) {
			called = u
		}
	}
	return called
}

// fails reports whether a function returns an error and nothing else.
func fails(f *types.Func) bool {
	r := f.Signature().Results()
	return r.Len() == 1 && types.TypeString(r.At(0).Type(), nil) == "error"
}

// carriesOut is the method of what a function returns as an interface, as far as its body shows it.
func (s *sources) carriesOut(by, method *types.Func) *types.Func {
	if by != nil && method != nil && s.returns[nameOf(by)] != nil {
		if of := types.NewMethodSet(s.returns[nameOf(by)]).Lookup(method.Pkg(), method.Name()); of != nil {
			return of.Obj().(*types.Func)
		}
	}
	return method
}

// joins reports whether a target creates ephemeral znodes.
func (g *target) joins() bool {
	return slices.Contains(g.creates, "ephemeral") || slices.Contains(g.creates, "ephemeral sequential")
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
