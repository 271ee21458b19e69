package console

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Rule says of flags when they make sense.
type Rule struct {
	sense bool
	flags string // their names
	why   string // what they need, or what they cannot be used with
}

// When is a rule: flags make sense only when a condition holds, or else why says what they need or exclude.
func When(sense bool, flags, why string) Rule { return Rule{sense, flags, why} }

// CheckUsage refuses flags of a command line that are empty, as from an unset variable of a shell, that are out of the range
// of their tag, or that break a rule of the command. The error says what to do.
func CheckUsage(parsed *kong.Context) error {
	var given []string
	for _, p := range parsed.Path {
		if p.Flag == nil || p.Flag.IsBool() && !p.Flag.Target.Bool() {
			continue
		}
		given = append(given, p.Flag.Name)
		if p.Flag.Target.Kind() == reflect.String && p.Flag.Target.Len() == 0 {
			return fmt.Errorf("--%s has an empty value: give it a value, or leave it out", p.Flag.Name)
		}
		if limits := p.Flag.Tag.Get("range"); limits != "" {
			value := reflect.Indirect(p.Flag.Target)
			if wanted := Outside(limits, value.Int()); wanted != "" {
				return fmt.Errorf("--%s %v: %s", p.Flag.Name, value, wanted)
			}
		}
	}
	command, ok := parsed.Selected().Target.Addr().Interface().(interface{ Rules() []Rule })
	if !ok {
		return nil
	}
	for _, r := range command.Rules() {
		for flag := range strings.FieldsSeq(r.flags) {
			if r.sense || !slices.Contains(given, flag) {
				continue
			}
			if strings.HasPrefix(r.why, "needs") {
				return fmt.Errorf("--%s %s: add it, or leave --%[1]s out", flag, r.why)
			}
			return fmt.Errorf("--%s %s: leave one of them out", flag, r.why)
		}
	}
	return nil
}

// Outside says what a range wants if a number is not in it, else "". A range is a tag of a flag: 1..16; or 1.., for at least
// 1; or >0; or 1,3,5. Durations are numbers of nanoseconds. It panics for what is no range.
func Outside(limits string, n int64) string {
	list := strings.Split(limits, ",")
	from, to, span := strings.Cut(limits, "..")
	above, more := strings.CutPrefix(limits, ">")
	switch {
	case more && n <= limit(above):
		return "more than " + above + " is needed"
	case more:
	case span && n < limit(from) && to == "":
		return "at least " + from + " is needed"
	case span && (n < limit(from) || to != "" && n > limit(to)):
		return from + " to " + to + " are possible"
	case !span && !slices.ContainsFunc(list, func(one string) bool { return limit(one) == n }):
		return strings.Join(list, ", ") + " are possible"
	}
	return ""
}

// limit is a number or a duration of a range.
func limit(text string) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d.Nanoseconds()
}
