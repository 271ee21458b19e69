package scan

import (
	"cmp"
	"fmt"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// maker writes what makes a value, as far as it can be known from types and names.
type maker struct {
	*sources
	g       *target
	within  *types.Package // the package that the code is in; nil: one of its own
	sees    func(types.Object) bool
	imports map[string]string // names by paths, the file's
	servers string            // the expression for the addresses
	path    string            // and for the path of what is shared
	self    string            // and for a name of who shares it
	eager   []string          // statements before the first use
	lines   []string          // statements of the function that makes it
	unknown []string          // what it could not know
	taken   map[string]bool   // names of variables
	making  map[string]bool   // types, against circles
	paths   int               // strings that were taken for the path
	inArgs  bool              // the values are arguments of calls: whom is registered, and not where the servers are
	served  bool              // it has been told where the servers are
	called  string            // the body of a function that is an argument; "": it does nothing
}

var (
	likeServers = regexp.MustCompile(`(?i)addr|server|host|endpoint|quorum|machine|connect|ensemble|hosts|^zks?$|zookeeper|^nodes$|brokers|url`)
	likePath    = regexp.MustCompile(`(?i)path|root|prefix|dir|lock|name|key|znode|node|chroot|namespace|election|queue|base|parent|group|topic|service|resource`)
	likeSelf    = regexp.MustCompile(`(?i)^(.*id|val(ue)?|data|owner|member|me|self|instance|content|addr.*|host.*|endpoint)$`)
	likeLog     = regexp.MustCompile(`(?i)log`)
	likeOptions = regexp.MustCompile(`(?i)opt|conf|cfg|setting|param`)
	quiet       = regexp.MustCompile(`^(New)?(Nop|Null|NoOp|Noop|Discard|Empty)`)
)

const clientPath = "github.com/go-zookeeper/zk"

func (m *maker) qualify(p *types.Package) string {
	if m.within != nil && p.Path() == m.within.Path() {
		return ""
	}
	return m.imported(p.Path(), p.Name())
}

// imported is the name by which the file knows a package.
func (m *maker) imported(path, name string) string {
	if known, is := m.imports[path]; is {
		return known
	}
	for slices.Contains(slices.Collect(maps.Values(m.imports)), name) {
		name += "x"
	}
	m.imports[path] = name
	return name
}

func (m *maker) typed(t types.Type) string { return types.TypeString(t, m.qualify) }

// object is an object's name in the file.
func (m *maker) object(o types.Object) string { return m.member(o.Pkg(), o.Name()) }

// member is the name of what a package has.
func (m *maker) member(p *types.Package, name string) string {
	if q := m.qualify(p); q != "" {
		return q + "." + name
	}
	return name
}

// variable is a new variable for a value of a type.
func (m *maker) variable(t types.Type) string {
	base := "the"
	if n := named(t); n != nil {
		base += strings.ToUpper(n.Name()[:1]) + n.Name()[1:]
	}
	name := base
	for n := 2; m.taken[name]; n++ {
		name = fmt.Sprint(base, n)
	}
	m.taken[name] = true
	return name
}

// guess notes what could not be known, and returns the expression with a mark.
func (m *maker) guess(expression, what string) string {
	m.unknown = append(m.unknown, what)
	return expression + " /* TODO(scan): " + what + " */"
}

// dial is a connection of a client library, and its events.
func (m *maker) dial(client *types.Package) (conn, events string) {
	conn, events, m.served = "conn", "events", true
	if !m.taken["conn"] {
		m.taken["conn"], m.taken["events"] = true, true
		option := ""
		if client.Path() == clientPath && m.servers == "s.Addresses" {
			option = ", s.Option"
		}
		m.eager = append(m.eager, fmt.Sprintf("conn, events, err := %s(%s, 10*%s.Second%s)", m.member(client, "Connect"), m.servers,
			m.imported("time", "time"), option), "if err != nil {", "\tpanic(err) // for its arguments only", "}", "_ = events")
	}
	return conn, events
}

// clientOf is the client library of which a type is the connection, its events, or an interface of it.
func (m *maker) clientOf(t types.Type) *types.Package {
	is := "Conn"
	if channel, events := t.Underlying().(*types.Chan); events {
		t, is = channel.Elem(), "Event"
	}
	if n := named(t); n != nil && n.Name() == is && isClient(n.Pkg()) {
		return n.Pkg()
	}
	if contract, is := t.Underlying().(*types.Interface); is {
		return m.behind(contract)
	}
	return nil
}

// value is an expression for a value of a type, which a parameter or a field of that name takes.
func (m *maker) value(t types.Type, name string, of *types.Func) string {
	if client := m.clientOf(t); client != nil {
		_, isEvents := t.Underlying().(*types.Chan)
		conn, events := m.dial(client)
		if isEvents {
			return events
		}
		return conn
	}
	switch text := types.TypeString(t, nil); text {
	case "context.Context":
		return m.imported("context", "context") + ".Background()"
	case "time.Duration":
		return "10 * " + m.imported("time", "time") + ".Second"
	case "error":
		return "nil"
	case "*log.Logger":
		return m.imported("log", "log") + ".New(" + m.imported("io", "io") + `.Discard, "", 0)`
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return m.basic(t, u, name)
	case *types.Slice:
		return m.slice(t, u, name)
	case *types.Map:
		return m.mapped(t, u, name, of)
	case *types.Struct:
		return m.structure(t, name, "")
	case *types.Pointer:
		if log := m.silent(t); log != "" {
			return log
		}
		if n := named(t); n != nil && !likeOptions.MatchString(n.Name()) {
			if made := m.made(t); made != "" {
				return made
			}
		}
		if _, is := u.Elem().Underlying().(*types.Struct); is && named(t) != nil {
			return m.structure(u.Elem(), name, "&")
		}
	case *types.Interface:
		if u.Empty() {
			return `"scan"`
		}
		if log := m.silent(t); log != "" {
			return log
		}
		if made := m.made(t); made != "" {
			return made
		}
	case *types.Signature:
		return m.callback(u, name)
	case *types.Chan:
		if u.Dir() == types.SendOnly || u.Dir() == types.SendRecv {
			return m.guess("make("+m.typed(types.NewChan(types.SendRecv, u.Elem()))+", 1000)", name+": nobody reads it")
		}
		return "nil"
	}
	return m.guess("nil", name+" of type "+types.TypeString(t, (*types.Package).Name))
}

func (m *maker) basic(t types.Type, u *types.Basic, name string) string {
	convert := func(expression string) string {
		if _, plain := types.Unalias(t).(*types.Basic); plain {
			return expression
		}
		return m.typed(t) + "(" + expression + ")"
	}
	switch {
	case u.Info()&types.IsString != 0 && !m.inArgs && !(m.served && likeSelf.MatchString(name)) && likeServers.MatchString(name) && !strings.Contains(strings.ToLower(name), "path"):
		m.served = true
		return convert(m.imported("strings", "strings") + ".Join(" + m.servers + `, ",")`)
	case u.Info()&types.IsString != 0 && likeSelf.MatchString(name):
		return convert(m.self)
	case u.Info()&types.IsString != 0 && m.paths == 0 && (likePath.MatchString(name) || name == ""):
		return convert(m.shares(name))
	case u.Info()&types.IsString != 0 && likePath.MatchString(name):
		return convert(`"scan"`)
	case u.Info()&types.IsString != 0:
		return convert(m.guess(`"scan"`, name))
	case u.Info()&types.IsInteger != 0 && regexp.MustCompile(`(?i)timeout|ttl|interval|sec`).MatchString(name):
		return convert("10")
	case u.Info()&types.IsInteger != 0 && (m.g.kind == "semaphore" || m.g.kind == "doublebarrier") && likeCount.MatchString(name):
		return convert("2")
	case u.Info()&types.IsNumeric != 0:
		return convert(m.guess("1", name))
	case u.Info()&types.IsBoolean != 0:
		return convert("false")
	}
	return m.guess(`nil`, name)
}

func (m *maker) slice(t types.Type, u *types.Slice, name string) string {
	element := u.Elem()
	n := named(element)
	switch b, basic := element.Underlying().(*types.Basic); {
	case n != nil && n.Name() == "ACL" && isClient(n.Pkg()):
		return m.member(n.Pkg(), "WorldACL") + "(" + m.member(n.Pkg(), "PermAll") + ")"
	case basic && b.Kind() == types.Uint8:
		return m.typed(t) + `("scan")`
	case basic && b.Kind() == types.String && !m.inArgs && (likeServers.MatchString(name) || !likePath.MatchString(name)):
		m.served = true
		return m.servers
	case basic && b.Kind() == types.String:
		return m.typed(t) + `{"scan"}`
	}
	return "nil"
}

// mapped is a map: one of strings gets the keys that the function looks up.
func (m *maker) mapped(t types.Type, u *types.Map, name string, of *types.Func) string {
	var pairs []string
	if of != nil && types.Identical(u.Elem(), types.Typ[types.String]) && types.Identical(u.Key(), types.Typ[types.String]) {
		for _, key := range m.keysOf(of, name) {
			switch {
			case likeServers.MatchString(key):
				pairs = append(pairs, fmt.Sprintf("%q: %s.Join(%s, \",\")", key, m.imported("strings", "strings"), m.servers))
			case strings.EqualFold(key, "path"):
				pairs = append(pairs, fmt.Sprintf("%q: %s", key, m.path))
			}
		}
	}
	return m.typed(t) + "{" + strings.Join(pairs, ", ") + "}"
}

// structure is a literal: of options only what says where the servers are and how to log, of an argument all strings.
func (m *maker) structure(t types.Type, name, address string) string {
	u := t.Underlying().(*types.Struct)
	if n := named(t); n != nil && n.Pkg() != nil && !m.inArgs {
		for _, f := range functionsOf(n.Pkg()) {
			signature := f.Signature()
			if f.Exported() && signature.Recv() == nil && signature.Params().Len() == 0 && signature.Results().Len() == 1 &&
				types.Identical(signature.Results().At(0).Type(), map[string]types.Type{"": t, "&": types.NewPointer(t)}[address]) {
				return m.object(f) + "()"
			}
		}
	}
	var fields []string
	for f := range u.Fields() {
		if !f.Exported() && !(m.within != nil && f.Pkg().Path() == m.within.Path()) {
			continue
		}
		isString := types.Identical(f.Type(), types.Typ[types.String])
		list, isList := f.Type().(*types.Slice)
		strings := isList && types.Identical(list.Elem(), types.Typ[types.String])
		_, called := f.Type().Underlying().(*types.Signature)
		switch {
		case called && m.servers == "i.Servers", m.clientOf(f.Type()) != nil, m.inArgs && (isString || strings), (isString || strings) && likeServers.MatchString(f.Name()),
			isString && regexp.MustCompile(`(?i)path|root|chroot|prefix|znode`).MatchString(f.Name()), likeLog.MatchString(f.Name()),
			types.TypeString(f.Type(), nil) == "time.Duration", isString && m.g.by == nil && f.Exported() && likePath.MatchString(f.Name()):
			fields = append(fields, f.Name()+": "+m.value(f.Type(), f.Name(), nil))
		}
	}
	return address + m.typed(t) + "{" + strings.Join(fields, ", ") + "}"
}

// Names of what a leader is told, and who is none any more.
var (
	likeLed  = regexp.MustCompile(`(?i)lead|elect|master|primary|active|promot`)
	likeOver = regexp.MustCompile(`(?i)stop|lost|lose|end|over|demot|resign|revok|un|standby|follow|step`)
)

// callback is a function that does nothing, or has a service declare that it leads, or does not.
func (m *maker) callback(u *types.Signature, name string) string {
	var params, results []string
	for p := range u.Params().Variables() {
		params = append(params, "_ "+m.typed(p.Type()))
	}
	if u.Variadic() {
		last := len(params) - 1
		params[last] = "_ ..." + strings.TrimPrefix(params[last], "_ []")
	}
	for i, r := range slices.Collect(u.Results().Variables()) {
		results = append(results, fmt.Sprintf("_%d %s", i, m.typed(r.Type())))
	}
	body := "{}"
	switch {
	case m.called != "":
		return "func(" + strings.Join(params, ", ") + ") (" + strings.Join(results, ", ") + ") {\n" + m.called + "\n}"
	case m.servers == "i.Servers" && (likeLed.MatchString(name) || likeOver.MatchString(name)) && u.Results().Len() == 0:
		leads := fmt.Sprint(!likeOver.MatchString(name))
		if u.Params().Len() == 1 && types.Identical(u.Params().At(0).Type(), types.Typ[types.Bool]) {
			leads, params[0] = "leads", "leads bool"
		}
		return "func(" + strings.Join(params, ", ") + ") { i.Declare(\"leader\", " + leads + ") }"
	case len(results) > 0:
		body = "{ return }"
	}
	return m.guess("func("+strings.Join(params, ", ")+") ("+strings.Join(results, ", ")+") "+body, name+": what it is told is not looked at")
}

// silent is a logger that says nothing, or any, from the package of the type.
func (m *maker) silent(t types.Type) (expression string) {
	n := named(t)
	if n == nil || n.Pkg() == nil || !likeLog.MatchString(n.Name()) && !likeLog.MatchString(n.Pkg().Name()) {
		return ""
	}
	for _, f := range functionsOf(n.Pkg()) {
		s := f.Signature()
		plain := s.Params().Len() == 0 || s.Params().Len() == 1 && s.Variadic()
		if f.Exported() && s.Recv() == nil && plain && s.Results().Len() == 1 && types.AssignableTo(s.Results().At(0).Type(), t) &&
			(expression == "" || quiet.MatchString(f.Name())) {
			expression = m.object(f) + "()"
		}
	}
	return expression
}

// made is what a function of the packages that are read makes, or of the type's own; "" if none does.
func (m *maker) made(t types.Type) string {
	key := types.TypeString(t, nil)
	if m.making[key] || len(m.making) > 3 {
		return ""
	}
	m.making[key] = true
	defer delete(m.making, key)
	var found []*types.Func
	for _, p := range m.packages {
		for _, f := range functionsOf(p.Types) {
			results := f.Signature().Results()
			if m.sees(f) && results.Len() > 0 && types.AssignableTo(m.gives(f, m.sees), t) &&
				!(f.Signature().Recv() != nil && types.AssignableTo(f.Signature().Recv().Type(), t)) {
				found = append(found, f)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b *types.Func) int {
		return cmp.Compare(a.Signature().Params().Len(), b.Signature().Params().Len())
	})
	var best *maker
	text := ""
	for _, f := range found[:min(len(found), 5)] {
		try := m.clone()
		if made, ok := try.call(f, nil, t); ok && (best == nil || len(try.unknown) < len(best.unknown)) {
			best, text = try, made
		}
	}
	if best == nil {
		return ""
	}
	*m = *best
	return text
}

// clone is a maker that may be given up.
func (m *maker) clone() *maker {
	c := *m
	c.eager, c.lines, c.unknown = slices.Clone(m.eager), slices.Clone(m.lines), slices.Clone(m.unknown)
	c.taken, c.making, c.imports = maps.Clone(m.taken), maps.Clone(m.making), maps.Clone(m.imports)
	return &c
}

// call writes a call of a constructor and returns its result as one of a type: the first one, or one of exactly the type
// want. It is false where the receiver of a method cannot be made.
func (m *maker) call(f *types.Func, want, as types.Type) (string, bool) {
	signature := f.Signature()
	called := ""
	if signature.Recv() != nil {
		receiver := m.made(signature.Recv().Type())
		if receiver == "" {
			return "", false
		}
		called = receiver + "." + f.Name()
	} else {
		called = m.object(f)
	}
	called += "(" + strings.Join(m.arguments(f), ", ") + ")"
	name, results, fails := "", []string{}, false
	for i, r := range slices.Collect(signature.Results().Variables()) {
		switch {
		case name == "" && (want == nil && i == 0 || want != nil && types.Identical(r.Type(), want)):
			name = m.variable(r.Type())
			results = append(results, name)
		case i == signature.Results().Len()-1 && types.TypeString(r.Type(), nil) == "error":
			fails = true
			results = append(results, "err")
		default:
			results = append(results, "_")
		}
	}
	m.lines = append(m.lines, strings.Join(results, ", ")+" := "+called)
	if fails {
		m.lines = append(m.lines, "if err != nil {", "\treturn made, err", "}")
	}
	if want == nil && !types.AssignableTo(signature.Results().At(0).Type(), as) {
		name += ".(" + m.typed(as) + ")"
	}
	return name, true
}

// arguments are those of a call, without variadic ones.
func (m *maker) arguments(f *types.Func) (all []string) {
	shared := m.shared(f)
	for i, p := range slices.Collect(f.Signature().Params().Variables()) {
		if f.Signature().Variadic() && i == f.Signature().Params().Len()-1 {
			break
		}
		if p == shared && m.paths == 0 {
			all = append(all, m.shares(p.Name()))
			continue
		}
		all = append(all, m.value(p.Type(), p.Name(), f))
	}
	return all
}

// shares is the path of what is shared, or a key without a slash: stores put that there themselves.
func (m *maker) shares(name string) string {
	m.paths++
	if strings.EqualFold(name, "key") != m.g.bare {
		return "scanKey(" + m.path + ")"
	}
	return m.path
}

// shared is the parameter of the target's constructor that says what its users share: the first string that is like a
// path, or else the first that is no address; nil if its method says so.
func (m *maker) shared(f *types.Func) (shared *types.Var) {
	isString := func(p *types.Var) bool { return types.Identical(p.Type(), types.Typ[types.String]) }
	if f != m.g.by || m.g.take != nil && slices.ContainsFunc(slices.Collect(m.g.take.Signature().Params().Variables()), isString) {
		return nil
	}
	for p := range f.Signature().Params().Variables() {
		switch {
		case !isString(p) || likeServers.MatchString(p.Name()) && !strings.Contains(strings.ToLower(p.Name()), "path"):
		case likePath.MatchString(p.Name()) && !likeSelf.MatchString(p.Name()):
			return p
		case shared == nil:
			shared = p
		}
	}
	return shared
}

// target writes what makes a target and returns the expression; false if nothing can.
func (m *maker) target() (string, bool) {
	if m.g.by == nil {
		t := m.g.t.(*types.Pointer).Elem()
		for f := range t.Underlying().(*types.Struct).Fields() {
			if m.clientOf(f.Type()) != nil && !m.sees(f) && m.within == nil {
				return "", false // a connection that only its package can give it
			}
		}
		return m.structure(t, "", "&"), true
	}
	m.making[types.TypeString(m.g.t, nil)] = true
	for r := range m.g.by.Signature().Results().Variables() {
		if types.Identical(r.Type(), m.g.t) {
			return m.call(m.g.by, m.g.t, m.g.t)
		}
	}
	return m.call(m.g.by, nil, m.g.t)
}
