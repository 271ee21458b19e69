package console

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// NameSet is a set of names that a user can type.
type NameSet struct {
	What  string   // one of them is, such as strategy
	Of    string   // the thing that they are of, if any
	Known []string // the names
	List  string   // the arguments with which this command lists them; "" if the message does

	AnyCase bool // upper and lower case are the same
}

// suggestionsMax is how many names are suggested in the place of an unknown one.
const suggestionsMax = 3

// Find returns an error that suggests names unless name is known.
func (n NameSet) Find(c *Context, name string) error {
	if slices.ContainsFunc(n.Known, func(k string) bool { return k == name || n.AnyCase && strings.EqualFold(k, name) }) {
		return nil
	}
	text := fmt.Sprintf("unknown %s %q", n.What, name)
	if n.Of != "" {
		text += " of " + n.Of
	}
	close := Nearest(name, n.Known)
	see := fmt.Sprintf("see %s %s", c.Self, n.List)
	switch {
	case n.List == "" && len(close) == 0:
		return fmt.Errorf("%s: there are %s", text, alternatives(n.Known, "and"))
	case n.List == "":
		return fmt.Errorf("%s: did you mean %s?", text, alternatives(close, "or"))
	case len(close) == 0:
		return fmt.Errorf("%s: %s", text, see)
	}
	return fmt.Errorf("%s: did you mean %s? If not, %s", text, alternatives(close, "or"), see)
}

// Nearest returns the known names that a user may have meant, the likeliest first: those that need few edits, and those
// of which the name is a part.
func Nearest(name string, known []string) (close []string) {
	name = strings.ToLower(name)
	distance := map[string]int{}
	for _, k := range known {
		d := Edits(name, strings.ToLower(k))
		if part := len(name) > 2 && strings.Contains(strings.ToLower(k), name); part {
			d = min(d, 1)
		}
		if d <= max(1, len(name)/3) {
			distance[k] = d
		}
	}
	close = slices.SortedFunc(maps.Keys(distance), func(a, b string) int {
		return cmp.Or(distance[a]-distance[b], len(a)-len(b), strings.Compare(a, b))
	})
	likely := 0
	for likely < min(len(close), suggestionsMax) && distance[close[likely]] <= distance[close[0]]+1 {
		likely++
	}
	return close[:likely]
}

// Edits is the edit distance of two texts in which two neighbours that are swapped count as one edit (optimal string
// alignment).
func Edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			changed := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				changed++
			}
			rows[i][j] = min(changed, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// alternatives are names as in a sentence: a, b or c.
func alternatives(names []string, conjunction string) string {
	if n := len(names) - 1; n > 0 {
		return strings.Join(names[:n], ", ") + " " + conjunction + " " + names[n]
	}
	return strings.Join(names, "")
}

// UnknownName is the error of a flag whose value is parsed by its type.
type UnknownName struct {
	NameSet
	Name string
}

func (u *UnknownName) Error() string { return "unknown " + u.What + " " + u.Name }

func NamesOf[T fmt.Stringer](each func(func(T) bool)) (names []string) {
	for one := range each {
		names = append(names, one.String())
	}
	return names
}
