package conformance_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// act carries out one command of a client and shows what it returned.
func (p *player) act(a *actor, verb string, words []string) error {
	args := &arguments{words: words}
	do, ok := verbs[verb]
	if !ok {
		return fmt.Errorf("no such command: %q", verb)
	}
	outcome, err := do(p, a, args)
	if args.err == nil && len(args.words) > 0 {
		args.err = fmt.Errorf("too many words: %q", args.words)
	}
	switch {
	case args.err != nil:
		return args.err
	case err != nil:
		p.say("error: %v", err)
	}
	if outcome != "" {
		p.say("%s", outcome)
	}
	return nil
}

// verbs return what is to be shown, and the client's error.
var verbs map[string]func(*player, *actor, *arguments) (string, error)

func init() {
	verbs = map[string]func(*player, *actor, *arguments) (string, error){
		"create": create, "container": createContainer, "ttl": createTTL,
		"exists": exists, "get": get, "children": children,
		"set": set, "delete": remove, "acl": getACL, "setacl": setACL, "multi": multi,
		"sync": func(_ *player, a *actor, args *arguments) (string, error) {
			path, err := a.Sync(args.text())
			return showText(path), err
		},
		"auth": func(_ *player, a *actor, args *arguments) (string, error) {
			return "", a.AddAuth(args.text(), args.data())
		},
		"close": func(p *player, a *actor, args *arguments) (string, error) { args.failed(p.close(a)); return "", nil },
		"cut": func(p *player, a *actor, args *arguments) (string, error) {
			a.severed = true
			args.failed(a.cut())
			return "", nil
		},
		"heal": func(p *player, a *actor, args *arguments) (string, error) { args.failed(p.heal(a)); return "", nil },
		"wait": wait,
		"reconfig": func(p *player, a *actor, _ *arguments) (string, error) {
			_, err := a.Reconfig([]string{"server.1=localhost:1:2;3"}, -1)
			return "", err
		},
	}
}

func create(_ *player, a *actor, args *arguments) (string, error) {
	return a.Create(args.text(), args.data(), args.mode(), args.acl())
}

func createContainer(_ *player, a *actor, args *arguments) (string, error) {
	return a.CreateContainer(args.text(), args.data(), zk.FlagContainer, args.acl())
}

func createTTL(_ *player, a *actor, args *arguments) (string, error) {
	path, data, ttl := args.text(), args.data(), args.duration()
	flag := int32(zk.FlagTTL)
	if args.take("sequential") {
		flag = zk.FlagPersistentSequentialWithTTL
	}
	return a.CreateTTL(path, data, flag, args.acl(), ttl)
}

func exists(p *player, a *actor, args *arguments) (string, error) {
	path := args.text()
	var found bool
	var stat *zk.Stat
	var ch <-chan zk.Event
	var err error
	if label, ok := args.label(); ok {
		found, stat, ch, err = a.ExistsW(path)
		p.watch(label, a, ch)
	} else {
		found, stat, err = a.Exists(path)
	}
	switch {
	case err != nil:
		return "", err
	case !found:
		return "false", nil
	}
	return "true " + p.showStat(stat), nil
}

func get(p *player, a *actor, args *arguments) (string, error) {
	path := args.text()
	var data []byte
	var stat *zk.Stat
	var ch <-chan zk.Event
	var err error
	if label, ok := args.label(); ok {
		data, stat, ch, err = a.GetW(path)
		p.watch(label, a, ch)
	} else {
		data, stat, err = a.Get(path)
	}
	if err != nil {
		return "", err
	}
	return showData(data) + " " + p.showStat(stat), nil
}

func children(p *player, a *actor, args *arguments) (string, error) {
	path := args.text()
	var names []string
	var stat *zk.Stat
	var ch <-chan zk.Event
	var err error
	if label, ok := args.label(); ok {
		names, stat, ch, err = a.ChildrenW(path)
		p.watch(label, a, ch)
	} else {
		names, stat, err = a.Children(path)
	}
	if err != nil {
		return "", err
	}
	return showChildren(names) + " " + p.showStat(stat), nil
}

// watch remembers a watch channel. There is none if the call failed.
func (p *player) watch(label string, a *actor, ch <-chan zk.Event) {
	if ch != nil {
		p.watches = append(p.watches, &watch{label, a, ch})
	}
}

func set(p *player, a *actor, args *arguments) (string, error) {
	stat, err := a.Set(args.text(), args.data(), args.number())
	if err != nil {
		return "", err
	}
	return p.showStat(stat), nil
}

func remove(_ *player, a *actor, args *arguments) (string, error) {
	if err := a.Delete(args.text(), args.number()); err != nil {
		return "", err
	}
	return "ok", nil
}

func getACL(p *player, a *actor, args *arguments) (string, error) {
	list, stat, err := a.GetACL(args.text())
	if err != nil {
		return "", err
	}
	return showACL(list) + " " + p.showStat(stat), nil
}

func setACL(p *player, a *actor, args *arguments) (string, error) {
	path, version := args.text(), args.number()
	stat, err := a.SetACL(path, args.acl(), version)
	if err != nil {
		return "", err
	}
	return p.showStat(stat), nil
}

func multi(p *player, a *actor, args *arguments) (string, error) {
	ops := args.operations()
	if args.err != nil {
		return "", nil
	}
	results, err := a.Multi(ops...)
	var lines []string
	for i, r := range results {
		lines = append(lines, fmt.Sprintf("%d: %s", i+1, showResult(p, r)))
	}
	return strings.Join(lines, "\n  "), err
}

func wait(p *player, a *actor, args *arguments) (string, error) {
	path := args.text()
	args.failed(p.side.wait(func() bool {
		found, _, err := a.Exists(path)
		return err == nil && !found
	}))
	return "gone", nil
}

// arguments are the words of a command that are still to be used. The first error stays.
type arguments struct {
	words []string
	err   error
}

func (args *arguments) failed(err error) {
	if args.err == nil {
		args.err = err
	}
}

func (args *arguments) word(what string) string {
	if len(args.words) == 0 {
		args.failed(fmt.Errorf("%s is missing", what))
		return ""
	}
	word := args.words[0]
	args.words = args.words[1:]
	return word
}

func (args *arguments) text() string { return args.unquote(args.word("a path or a name")) }

func (args *arguments) unquote(word string) string {
	if !strings.HasPrefix(word, `"`) {
		return word
	}
	text, err := strconv.Unquote(word)
	args.failed(err)
	return text
}

func (args *arguments) data() []byte {
	word := args.word("data")
	if word == "null" {
		return nil
	}
	if times, ok := strings.CutPrefix(word, "x*"); ok {
		n, err := strconv.Atoi(times)
		args.failed(err)
		return bytes.Repeat([]byte("x"), n)
	}
	return []byte(args.unquote(word))
}

func (args *arguments) number() int32 {
	n, err := strconv.ParseInt(args.word("a version"), 10, 32)
	args.failed(err)
	return int32(n)
}

func (args *arguments) duration() time.Duration {
	d, err := time.ParseDuration(args.word("a duration"))
	args.failed(err)
	return d
}

// take uses the next word if it is the one given.
func (args *arguments) take(word string) bool {
	if len(args.words) == 0 || args.words[0] != word {
		return false
	}
	args.words = args.words[1:]
	return true
}

func (args *arguments) label() (string, bool) {
	if len(args.words) == 0 {
		return "", false
	}
	label, ok := strings.CutPrefix(args.words[0], "watch=")
	if ok {
		args.words = args.words[1:]
	}
	return label, ok
}

// mode is persistent if none is named.
func (args *arguments) mode() int32 {
	modes := []string{"persistent", "ephemeral", "sequential", "ephemeral-sequential"}
	for flags, name := range modes {
		if args.take(name) {
			return int32(flags)
		}
	}
	if len(args.words) > 0 {
		if n, err := strconv.ParseInt(args.words[0], 10, 32); err == nil {
			args.words = args.words[1:]
			return int32(n)
		}
	}
	return zk.FlagPersistent
}

// acl is open to the world if none is given; "acl=" is an empty list.
func (args *arguments) acl() []zk.ACL {
	if len(args.words) == 0 || !strings.HasPrefix(args.words[0], "acl=") {
		return zk.WorldACL(zk.PermAll)
	}
	word := args.unquote(strings.TrimPrefix(args.word("acl="), "acl="))
	list := []zk.ACL{}
	for entry := range strings.SplitSeq(word, ",") {
		if entry != "" {
			list = append(list, args.aclEntry(entry))
		}
	}
	return list
}

// aclEntry reads scheme:id:perms; an id may have colons.
func (args *arguments) aclEntry(entry string) zk.ACL {
	first, last := strings.IndexByte(entry, ':'), strings.LastIndexByte(entry, ':')
	if first == last {
		args.failed(fmt.Errorf("%q is not scheme:id:perms", entry))
		return zk.ACL{}
	}
	acl := zk.ACL{Scheme: entry[:first], ID: entry[first+1 : last]}
	for _, letter := range entry[last+1:] {
		bit := strings.IndexRune(permLetters, letter)
		if bit < 0 {
			args.failed(fmt.Errorf("%q: permissions are letters of %s", entry, permLetters))
			return acl
		}
		acl.Perms |= 1 << bit
	}
	return acl
}

func (args *arguments) operations() []any {
	var ops []any
	for len(args.words) > 0 {
		ops = append(ops, args.operation())
		if len(args.words) > 0 && !args.take(";") {
			args.failed(fmt.Errorf("; is missing before %q", args.words))
			return nil
		}
	}
	return ops
}

func (args *arguments) operation() any {
	switch verb := args.word("an operation"); verb {
	case "create":
		path, data, flags := args.text(), args.data(), args.mode()
		return &zk.CreateRequest{Path: path, Data: data, Flags: flags, Acl: args.acl()}
	case "set":
		path, data := args.text(), args.data()
		return &zk.SetDataRequest{Path: path, Data: data, Version: args.number()}
	case "delete":
		path := args.text()
		return &zk.DeleteRequest{Path: path, Version: args.number()}
	case "check":
		path := args.text()
		return &zk.CheckVersionRequest{Path: path, Version: args.number()}
	default:
		args.failed(fmt.Errorf("no such operation in a multi: %q", verb))
		return nil
	}
}
