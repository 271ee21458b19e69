package console

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

// A range is a tag of a number that says which numbers make sense: 1..16; or 1.., for at least 1; or >0; or 1,3,5.

// Rule says of flags when they make sense.
type Rule struct {
	sense bool
	Flags string // their names
	Why   string // what they need, or what they cannot be used with
}

// When is a rule: flags make sense only when a condition holds, or else why says what they need or exclude.
func When(sense bool, flags, why string) Rule { return Rule{sense, flags, why} }

// Ruled is a command some of whose flags do not always make sense.
type Ruled interface{ Rules() []Rule }

// CheckUsage refuses flags and arguments of a command line that make no sense, with the reason and what to do.
func CheckUsage(parsed *kong.Context) error {
	for _, check := range []func(*kong.Value) error{notEmpty, inRange} {
		for _, p := range parsed.Path {
			if v := valueOf(p); v != nil {
				if err := check(v); err != nil {
					return err
				}
			}
		}
	}
	command, ok := parsed.Selected().Target.Addr().Interface().(Ruled)
	if !ok {
		return nil
	}
	for _, r := range command.Rules() {
		for flag := range strings.FieldsSeq(r.Flags) {
			if !r.sense && given(parsed, flag) {
				return r.Broken(flag)
			}
		}
	}
	return nil
}

// Broken is the error of a flag that makes no sense.
func (r Rule) Broken(flag string) error {
	if strings.HasPrefix(r.Why, "needs") {
		return fmt.Errorf("--%s %s: add it, or leave --%[1]s out", flag, r.Why)
	}
	return fmt.Errorf("--%s %s: leave one of them out", flag, r.Why)
}

// given reports whether a flag is on a command line.
func given(parsed *kong.Context, flag string) bool {
	return slices.ContainsFunc(parsed.Path, func(p *kong.Path) bool {
		return p.Flag != nil && p.Flag.Name == flag && (!p.Flag.IsBool() || p.Flag.Target.Bool())
	})
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

func EmptyValue(label string) error {
	return fmt.Errorf("%s has an empty value: give it a value, or leave it out", label)
}

// notEmpty refuses flags with an empty value, as from an unset shell variable. Such a flag would count as absent, and
// mean plain text instead of TLS, for example. Those whose tag is empty:"" have a meaning for it.
func notEmpty(v *kong.Value) error {
	if v.Flag != nil && v.Target.Kind() == reflect.String && v.Target.Len() == 0 && !v.Tag.Has("empty") {
		return EmptyValue(label(v))
	}
	return nil
}

func inRange(v *kong.Value) error {
	n, ok := NumberOf(reflect.Indirect(v.Target))
	limits := v.Tag.Get("range")
	switch {
	case !ok:
		return nil
	case math.IsNaN(n) || math.IsInf(n, 0):
		return fmt.Errorf("%s %v: a finite number is needed", label(v), n)
	case limits == "":
		return nil
	}
	possible, wanted := ParseRange(limits)
	if !possible(n) {
		return fmt.Errorf("%s %v: %s", label(v), reflect.Indirect(v.Target), wanted)
	}
	return nil
}

func NumberOf(v reflect.Value) (number float64, ok bool) {
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

// ParseRange says which numbers a range contains, and puts that in words.
func ParseRange(limits string) (contains func(float64) bool, words string) {
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
	}, strings.Join(list, ", ") + " are possible"
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
