package torturecli

import (
	"bytes"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/internal/await"
)

// flagsOf returns the commands with their flags, but for --help.
func flagsOf(t *testing.T) map[*kong.Node][]*kong.Flag {
	t.Helper()
	parser, err := newParser(&cli{})
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

// Each number has a range, and each condition is about a flag that there is.
func TestFlagsSayWhatMakesSense(t *testing.T) {
	for node, flags := range flagsOf(t) {
		names := map[string]*kong.Flag{}
		for _, f := range flags {
			names[f.Name] = f
		}
		for _, f := range flags {
			_, number := numberOf(reflect.New(reflect.TypeOf(f.Target.Interface())).Elem())
			limits := f.Tag.Get("range")
			if number && limits == "" && f.Name != "seed" {
				t.Errorf("%s --%s is a number without a range", node.Name, f.Name)
			}
			if limits != "" {
				parseRange(limits) // panics
			}
			for condition := range strings.SplitSeq(f.Tag.Get("needs")+","+f.Tag.Get("excludes"), ",") {
				name, values, valued := strings.Cut(condition, "=")
				if condition != "" && names[name] == nil {
					t.Errorf("%s --%s depends on --%s, which there is not", node.Name, f.Name, name)
				} else if of := names[name]; valued && of.Tag.Has("oneof") {
					for v := range strings.SplitSeq(values, "|") {
						if !slices.Contains(strings.Split(of.Tag.Get("oneof"), ","), v) {
							t.Errorf("%s --%s depends on --%s %s, which there is not", node.Name, f.Name, name, v)
						}
					}
				}
			}
		}
	}
}

// required are the arguments and flags without which a command is not parsed.
var required = map[string][]string{
	"run": {"lock"}, "replay": {"f"}, "explain": {"f"}, "part": {"--plan", "f"}, "merge": {"--plan", "f", "f"},
	"index": {"d"}, "certify": {"f"}, "check": {"f"}, "proxy": {"--servers", "a:1"}, "clean": {"--servers", "a:1"},
}

// TestMisuse gives every flag of every command what its tags rule out. Each is refused in one line, that names the
// flag, before anything is done.
func TestMisuse(t *testing.T) {
	t.Chdir(t.TempDir())
	for node, flags := range flagsOf(t) {
		for _, f := range flags {
			for wrong, says := range wrongUses(node, f) {
				refused(t, says, append([]string{node.Name}, append(required[node.Name], strings.Split(wrong, " ")...)...)...)
			}
		}
	}
}

// wrongUses are wrong uses of a flag, with what the refusal has to begin with.
func wrongUses(node *kong.Node, f *kong.Flag) map[string]string {
	flag := "--" + f.Name
	wrong := map[string]string{}
	if !f.IsBool() {
		wrong[flag+"="] = flag
	}
	if f.Tag.Has("oneof") || f.Tag.Has("names") {
		wrong[flag+" spanner"] = "unknown "
	}
	if _, number := numberOf(reflect.Indirect(f.Target)); number || f.Target.Kind() == reflect.Pointer {
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
	if needs := f.Tag.Get("needs"); needs != "" && !slices.Contains([]string{"backend=sim|wire", "backend=sim"}, needs) {
		name := strings.FieldsFunc(needs, func(r rune) bool { return r == '=' || r == ',' })[0]
		wrong[flag+sample(f)] = flag + " needs --" + name
	}
	for condition := range strings.SplitSeq(f.Tag.Get("excludes"), ",") {
		name, value, valued := strings.Cut(condition, "=")
		i := slices.IndexFunc(node.Flags, func(f *kong.Flag) bool { return f.Name == name })
		if i < 0 {
			continue
		}
		other := "--" + name + sample(node.Flags[i])
		if valued {
			other = "--" + name + "=" + value
		}
		needs := ""
		for _, of := range []*kong.Flag{f, node.Flags[i]} {
			if tag := of.Tag.Get("needs"); tag != "" {
				flag, value, _ := strings.Cut(tag, "=")
				value, _, _ = strings.Cut(value, "|")
				needs = " --" + flag + "=" + value
			}
		}
		wrong[flag+sample(f)+" "+other+needs] = ""
	}
	return wrong
}

// sample is a value of a flag that is possible.
func sample(f *kong.Flag) string {
	values := strings.Split(f.Tag.Get("oneof"), ",")
	switch {
	case f.IsBool():
		return ""
	case values[0] != "":
		return "=" + values[len(values)-1]
	case f.Target.Type().String() == "time.Duration":
		return "=1s"
	case f.Name == "jute-maxbuffer":
		return "=2000"
	}
	return "=1"
}

func refused(t *testing.T, says string, args ...string) {
	t.Helper()
	done, cancel := context.WithTimeout(t.Context(), await.Hang) // what is not refused may wait for ever
	defer cancel()
	var out, err bytes.Buffer
	status := run(done, args, streams{out: &out, err: &err, self: "torture"})
	stdout, stderr := out.String(), err.String()
	if status != exitUnknown || stdout != "" || strings.Count(stderr, "\n") != 1 ||
		!strings.HasPrefix(stderr, "torture: "+says) {
		t.Errorf("torture %q: exit status %d, want one line that begins %q\n%s%s", args, status, says, stdout, stderr)
	}
}

// Each kind of name that a user can type is suggested.
func TestDidYouMean(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"rnu lock":                                       `unknown command "rnu": did you mean run? If not, see torture --help`,
		"run lokc":                                       `unknown workload "lokc": did you mean lock? If not, see torture list kinds`,
		"run lock --recipe WriteLock":                    `unknown recipe "WriteLock" of lock: did you mean published/WriteLock? If not, see torture list kinds`,
		"run lock --epsodes 3":                           `unknown flag "--epsodes": did you mean --episodes? If not, see torture run --help`,
		"run lock --faults loss,expirry":                 `unknown fault "expirry": did you mean expiry? If not, see torture list faults`,
		"run lock --strategy swep":                       `unknown strategy "swep": did you mean sweep? If not, see torture list strategies`,
		"run lock --backend ensembel":                    `unknown backend "ensembel": did you mean ensemble?`,
		"run lock --backend ensemble --faults partitoin": `unknown fault "partitoin": did you mean partition? If not, see torture list faults`,
		"zoo --source w111":                              `unknown animal "w111": did you mean W11? If not, see torture list zoo`,
		"check f --model que":                            `unknown model "que": did you mean queue or priorityqueue? If not, see torture list models`,
		"explain f --model elektion":                     `unknown model "elektion": did you mean election? If not, see torture list models`,
		"serve --faults kil":                             `unknown fault "kil": did you mean kill?`,
		"proxy --servers a:1 --faults looss":             `unknown fault "looss": did you mean loss?`,
		"list modles":                                    `unknown section "modles": did you mean models?`,
		"replay f --backend enssemble":                   `unknown backend "enssemble": did you mean ensemble?`,
	} {
		status, _, stderr := command(t, strings.Fields(line)...)
		if status != exitUnknown || stderr != "torture: "+want+"\n" {
			t.Errorf("torture %s: exit status %d, want %q, got\n%s", line, status, want, stderr)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"lock", "lock", 0}, {"lokc", "lock", 1}, {"kitten", "sitting", 3}, {"a", "b", 1}} {
		if got := edits(c.a, c.b); got != c.want || got != edits(c.b, c.a) {
			t.Errorf("edits(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// At most three names are suggested: the nearest.
func TestNearest(t *testing.T) {
	known := []string{"axa", "axb", "axc", "axd", "axab", "far"}
	if got, want := nearest("axe", known), []string{"axa", "axb", "axc"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := nearest("spanner", slices.Collect(maps.Keys(nameSets))); len(got) > 0 {
		t.Errorf("spanner is near %v", got)
	}
}
