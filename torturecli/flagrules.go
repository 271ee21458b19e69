package torturecli

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Beside kong's, flags and arguments have tags that say what makes sense:
//
//	oneof:"a,b"          the names that there are
//	names:"models"       the same, if these are one of nameSets
//	range:"1..16"        the numbers that make sense; or 1.., for at least 1, or >0, or 1,3,5
//	needs:"exact"        it applies only if that flag is given …
//	needs:"backend=a|b"  … or has one of these values
//	needs:"x,y"          … or if one of these is given
//	excludes:"x,y=a"     it does not apply if x is given, or y has the value a
//	why:"…"              the reason for what it excludes

// checkUsage refuses flags and arguments of a command line that make no sense, with the reason and what to do.
func checkUsage(c *commandContext, parsed *kong.Context) error {
	for _, check := range []func(*commandContext, *kong.Context, *kong.Value) error{
		notEmpty, namesKnown, inRange, needsMet, excludesNone,
	} {
		for _, p := range parsed.Path {
			if v := valueOf(p); v != nil {
				if err := check(c, parsed, v); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// valueOf is the flag or argument of an element of a command line, nil for others.
func valueOf(p *kong.Path) *kong.Value {
	switch {
	case p.Flag != nil:
		return p.Flag.Value
	case p.Positional != nil:
		return p.Positional
	}
	return nil
}

// label is how a user writes a flag or an argument.
func label(v *kong.Value) string {
	if v.Flag != nil {
		return "--" + v.Name
	}
	return "<" + v.Name + ">"
}

// notEmpty refuses flags with an empty value, as from an unset shell variable. Such a flag would count as absent, and
// mean plain text instead of TLS, for example.
func notEmpty(_ *commandContext, _ *kong.Context, v *kong.Value) error {
	if v.Flag != nil && v.Target.Kind() == reflect.String && v.Target.Len() == 0 {
		return fmt.Errorf("%s has an empty value: give it a value, or leave it out", label(v))
	}
	return nil
}

func namesKnown(c *commandContext, _ *kong.Context, v *kong.Value) error {
	set := nameSet{what: v.Name, known: strings.Split(v.Tag.Get("oneof"), ",")}
	if name := v.Tag.Get("names"); name != "" {
		set = nameSets[name]()
	} else if !v.Tag.Has("oneof") {
		return nil
	}
	if v.Target.Kind() == reflect.String {
		return set.find(c, v.Target.String())
	}
	for i := range v.Target.Len() {
		if err := set.find(c, v.Target.Index(i).String()); err != nil {
			return err
		}
	}
	return nil
}

func inRange(_ *commandContext, _ *kong.Context, v *kong.Value) error {
	n, ok := numberOf(reflect.Indirect(v.Target))
	limits := v.Tag.Get("range")
	switch {
	case !ok:
		return nil
	case math.IsNaN(n) || math.IsInf(n, 0):
		return fmt.Errorf("%s %v: a finite number is needed", label(v), n)
	case limits == "":
		return nil
	}
	possible, wanted := parseRange(limits)
	if !possible(n) {
		return fmt.Errorf("%s %v: %s", label(v), reflect.Indirect(v.Target), wanted)
	}
	return nil
}

func numberOf(v reflect.Value) (number float64, ok bool) {
	switch {
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	}
	return 0, false
}

// parseRange says which numbers a range contains, and puts that in words.
func parseRange(limits string) (contains func(float64) bool, words string) {
	if above, ok := strings.CutPrefix(limits, ">"); ok {
		return func(n float64) bool { return n > limit(above) }, "more than " + above + " is needed"
	}
	if from, to, ok := strings.Cut(limits, ".."); ok && to == "" {
		return func(n float64) bool { return n >= limit(from) }, "at least " + from + " is needed"
	} else if ok {
		return func(n float64) bool { return n >= limit(from) && n <= limit(to) }, from + " to " + to + " are possible"
	}
	list := strings.Split(limits, ",")
	return func(n float64) bool {
		return slices.ContainsFunc(list, func(one string) bool { return limit(one) == n })
	}, alternatives(list, "or") + " are possible"
}

// limit is a number or a duration of a range. A test reads all ranges.
func limit(text string) float64 {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return float64(d)
}

func needsMet(_ *commandContext, parsed *kong.Context, v *kong.Value) error {
	tag := v.Tag.Get("needs")
	conditions := strings.Split(tag, ",")
	if tag == "" || slices.ContainsFunc(conditions, func(condition string) bool { return holds(parsed, condition) }) {
		return nil
	}
	for i, condition := range conditions {
		name, values, _ := strings.Cut(condition, "=")
		conditions[i] = strings.TrimSpace("--" + name + " " + alternatives(strings.Split(values, "|"), "or"))
	}
	return fmt.Errorf("%s needs %s: add it, or leave %[1]s out", label(v), alternatives(conditions, "or"))
}

func excludesNone(_ *commandContext, parsed *kong.Context, v *kong.Value) error {
	for _, tag := range strings.Split(v.Tag.Get("excludes"), ",") {
		if tag == "" || !holds(parsed, tag) {
			continue
		}
		reason := ""
		if why := v.Tag.Get("why"); why != "" {
			reason = ", because " + why
		}
		return fmt.Errorf("%s cannot be used with --%s%s: leave one of them out", label(v), strings.Replace(tag, "=", " ", 1), reason)
	}
	return nil
}

// holds tells whether a flag is given, or has one of the values of a condition such as backend=a|b.
func holds(parsed *kong.Context, condition string) bool {
	name, values, valued := strings.Cut(condition, "=")
	if valued {
		return slices.ContainsFunc(parsed.Flags(), func(f *kong.Flag) bool {
			return f.Name == name && slices.Contains(strings.Split(values, "|"), f.Target.String())
		})
	}
	return slices.ContainsFunc(parsed.Path, func(p *kong.Path) bool {
		return p.Flag != nil && p.Flag.Name == name && (!p.Flag.IsBool() || p.Flag.Target.Bool())
	})
}

// joinNegative puts negative numbers behind the flags that they are of, as in --episodes=-1. By itself such an argument
// would be taken for a flag.
func joinNegative(args []string) (joined []string) {
	for i, arg := range args {
		negative := len(arg) > 1 && arg[0] == '-' && (arg[1] == '.' || arg[1] >= '0' && arg[1] <= '9')
		if negative && i > 0 && strings.HasPrefix(args[i-1], "--") && !strings.Contains(args[i-1], "=") {
			joined[len(joined)-1] += "=" + arg
			continue
		}
		joined = append(joined, arg)
	}
	return joined
}
