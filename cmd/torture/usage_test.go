package main

import (
	"bytes"
	"context"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/internal/cli"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/testkit"
)

// flagsOf returns the commands with their flags, but for --help.
func flagsOf(t *testing.T) map[*kong.Node][]*kong.Flag {
	t.Helper()
	parser, err := cli.Parser()
	if err != nil {
		t.Fatal(err)
	}
	all := map[*kong.Node][]*kong.Flag{}
	for _, node := range parser.Model.Children {
		for _, f := range node.Flags {
			if f.Name != "help" {
				all[node] = append(all[node], f)
			}
		}
	}
	return all
}

// Each number has a range, and each rule is about flags that there are.
func TestFlagsSayWhatMakesSense(t *testing.T) {
	named := regexp.MustCompile(`--[a-z-]+`)
	for node, flags := range flagsOf(t) {
		names := map[string]bool{}
		for _, f := range flags {
			names["--"+f.Name] = true
			_, number := console.NumberOf(reflect.New(reflect.TypeOf(f.Target.Interface())).Elem())
			limits := f.Tag.Get("range")
			if number && limits == "" && f.Name != "seed" {
				t.Errorf("%s --%s is a number without a range", node.Name, f.Name)
			}
			if limits != "" {
				console.ParseRange(limits) // panics
			}
		}
		for _, r := range rulesOf(node) {
			for _, name := range named.FindAllString(r.Why+" --"+strings.Join(strings.Fields(r.Flags), " --"), -1) {
				if !names[name] {
					t.Errorf("a rule of %s is about %s, which there is not", node.Name, name)
				}
			}
		}
	}
}

func rulesOf(node *kong.Node) []console.Rule {
	if command, ok := node.Target.Addr().Interface().(console.Ruled); ok {
		return command.Rules()
	}
	return nil
}

// required are the arguments and flags without which a command is not parsed.
var required = map[string][]string{
	"run": {"lock"}, "replay": {"f"}, "explain": {"f"},
	"live": {"lock"}, "prove": {"lock"}, "check": {"f"}, "proxy": {"--servers", "a:1"}, "clean": {"--servers", "a:1"},
	"trace": {"f"},
}

// TestMisuse gives every flag of every command what its tags and rules rule out. Each is refused in one line, that names
// the flag, before anything is done.
func TestMisuse(t *testing.T) {
	t.Chdir(t.TempDir())
	for node, flags := range flagsOf(t) {
		for _, f := range flags {
			for wrong, says := range wrongUses(f) {
				refused(t, says, append([]string{node.Name}, append(required[node.Name], strings.Split(wrong, " ")...)...)...)
			}
		}
		for _, r := range rulesOf(node) {
			for name := range strings.FieldsSeq(r.Flags) {
				line := brokenBy(r, node, name)
				refused(t, r.Broken(name).Error(), append([]string{node.Name}, append(required[node.Name], line...)...)...)
			}
		}
	}
}

// wrongUses are wrong uses of a flag, with what the refusal has to begin with.
func wrongUses(f *kong.Flag) map[string]string {
	flag := "--" + f.Name
	wrong := map[string]string{}
	if !f.IsBool() {
		wrong[flag+"="] = flag
	}
	if f.Enum != "" {
		wrong[flag+" spanner"] = "unknown "
	}
	if _, number := console.NumberOf(reflect.Indirect(f.Target)); number || f.Target.Kind() == reflect.Pointer {
		values := []string{"-1", "-1s", "NaN", "1e999", "many", "99999999999999999999999"}
		if f.Target.CanFloat() {
			values = values[:5]
		}
		for _, value := range values {
			wrong[flag+" "+value] = flag + " " + value + ": "
		}
		if f.Tag.Has("range") && !strings.HasPrefix(f.Tag.Get("range"), "0") {
			wrong[flag+" 0"] = flag + " 0"
			if f.Target.Type().String() == "time.Duration" {
				delete(wrong, flag+" 0")
				wrong[flag+" 0s"] = flag + " 0s"
			}
		}
	}
	return wrong
}

var asks = regexp.MustCompile(`^(?:needs|cannot be used with) (--[a-z-]+)(?: ([a-z]+))?`)

// brokenBy is a command line that breaks a rule by a flag, and no other rule.
func brokenBy(r console.Rule, node *kong.Node, name string) (line []string) {
	used := []string{name}
	if m := asks.FindStringSubmatch(r.Why); strings.HasPrefix(r.Why, "cannot") {
		used = append(used, m[1][2:])
		if m[2] != "" && m[2] != "or" {
			line, used = append(line, m[1]+"="+m[2]), used[:1]
		}
	}
	with := func(name, value string) string {
		i := slices.IndexFunc(node.Flags, func(f *kong.Flag) bool { return f.Name == name })
		if value != "" {
			return "--" + name + "=" + value
		}
		return "--" + name + sample(node.Flags[i])
	}
	for _, name := range used {
		line = append(line, with(name, ""))
		for _, other := range rulesOf(node) {
			m := asks.FindStringSubmatch(other.Why)
			if slices.Contains(strings.Fields(other.Flags), name) && strings.HasPrefix(other.Why, "needs") && other.Why != r.Why {
				line = append(line, with(m[1][2:], m[2]))
			}
		}
	}
	return line
}

// sample is a value of a flag that is possible.
func sample(f *kong.Flag) string {
	values := strings.Split(strings.TrimPrefix(f.Enum, ","), ",")
	switch {
	case f.IsBool():
		return ""
	case values[0] != "":
		return "=" + values[len(values)-1]
	case f.Target.Type().String() == "time.Duration":
		return "=1s"
	case f.Name == "faults":
		return "=loss"
	case f.Name == "jute-maxbuffer":
		return "=2000"
	}
	return "=1"
}

func refused(t *testing.T, says string, args ...string) {
	t.Helper()
	done, cancel := context.WithTimeout(t.Context(), testkit.Hang) // what is not refused may wait for ever
	defer cancel()
	var out, err bytes.Buffer
	status := cli.Run(done, args, console.Streams{Stdout: &out, Stderr: &err, Self: "torture"})
	stdout, stderr := out.String(), err.String()
	if status != console.ExitUnknown || stdout != "" || strings.Count(stderr, "\n") != 1 ||
		!strings.HasPrefix(stderr, "torture: "+says) {
		t.Errorf("torture %q: exit status %d, want one line that begins %q\n%s%s", args, status, says, stdout, stderr)
	}
}

// There are not more commands than one can take in, each in a group.
func TestFewCommands(t *testing.T) {
	_, shown, _ := command(t, "--help")
	groups := regexp.MustCompile(`(?m)^(\S.*):$`).FindAllString(shown, -1)
	if want := []string{"Flags:", "Everyday:", "Real servers:", "More:"}; !slices.Equal(groups, want) {
		t.Errorf("groups %q, want %q", groups, want)
	}
	_, shown, _ = strings.Cut(shown, "\nEveryday:\n")
	if n := len(regexp.MustCompile(`(?m)^  [a-z]`).FindAllString(shown, -1)); n < 10 || n > 14 {
		t.Errorf("%d commands are shown", n)
	}
}

// Each kind of name that a user can type is suggested.
func TestDidYouMean(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"rnu lock":                               `unknown command "rnu": did you mean run? If not, see torture --help`,
		"run lokc":                               `unknown kind "lokc": did you mean lock? If not, see torture list kinds`,
		"run lock --recipe WriteLock":            `unknown recipe "WriteLock" of lock: did you mean published/WriteLock? If not, see torture list kinds`,
		"run lock --epsodes 3":                   `unknown flag "--epsodes": did you mean --episodes? If not, see torture run --help`,
		"run lock --faults loss,expirry":         `unknown fault "expirry": did you mean expiry? If not, see torture list faults`,
		"run lock --strategy patern":             `unknown strategy "patern": did you mean patterns? If not, see torture list strategies`,
		"live lock --start 3 --faults partitoin": `unknown fault "partitoin": did you mean partition? If not, see torture list faults`,
		"zoo w111":                               `unknown bug "w111": did you mean W11? If not, see torture list zoo`,
		"check f --model que":                    `unknown model "que": did you mean queue, lockingqueue or priorityqueue? If not, see torture list models`,
		"explain f --model elektion":             `unknown model "elektion": did you mean election? If not, see torture list models`,
		"run lock --faults all,-wrpa":            `unknown fault "wrpa": did you mean wrap? If not, see torture list faults`,
		"run lock --faults=-wrap":                `--faults: -wrap leaves out what is not there: write it behind a set that has wrap, as in all,-loss: see torture run --help`,
		"serve --faults=-kill":                   `--faults: -kill leaves out what is not there: write it behind a set that has kill, as in all,-loss: see torture serve --help`,
		"serve --faults kil":                     `unknown fault "kil": did you mean kill?`,
		"proxy --servers a:1 --faults looss":     `unknown fault "looss": did you mean loss?`,
		"list modles":                            `unknown section "modles": did you mean models?`,
	} {
		status, _, stderr := command(t, strings.Fields(line)...)
		if status != console.ExitUnknown || stderr != "torture: "+want+"\n" {
			t.Errorf("torture %s: exit status %d, want %q, got\n%s", line, status, want, stderr)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"lock", "lock", 0}, {"lokc", "lock", 1}, {"kitten", "sitting", 3}, {"a", "b", 1}} {
		if got := console.Edits(c.a, c.b); got != c.want || got != console.Edits(c.b, c.a) {
			t.Errorf("edits(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// At most three names are suggested: the nearest.
func TestNearest(t *testing.T) {
	known := []string{"axa", "axb", "axc", "axd", "axab", "far"}
	if got, want := console.Nearest("axe", known), []string{"axa", "axb", "axc"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := console.Nearest("spanner", []string{"workload", "strategy", "model"}); len(got) > 0 {
		t.Errorf("spanner is near %v", got)
	}
}
