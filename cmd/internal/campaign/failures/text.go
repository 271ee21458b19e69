package failures

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text is the night as a short table, those to look at first: of each failure the state, its id, where it is, when it
// was first seen, and in how many nights. What is new is told below, with the command that runs it again. Of what is
// expected only that is told which is not as it was.
func (n *Night) Text(columns int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n", n.title(), n.Summary())
	for _, f := range n.Failures {
		if !f.Expected {
			fmt.Fprintln(&out, cut(f.line(), columns))
		}
	}
	for _, f := range n.Failures {
		if f.News() {
			f.tell(&out, columns)
		}
	}
	if line := n.zoo(); line != "" {
		fmt.Fprint(&out, "\n", wrap(line, "", columns))
	}
	for _, p := range n.Problems {
		fmt.Fprint(&out, "\n", wrap(p, "", columns))
	}
	return out.String()
}

func (n *Night) title() string {
	title := fmt.Sprintf("night %d, %s", n.Nights, n.Began.Format("2006-01-02 15:04 MST"))
	for _, word := range []string{n.Name, n.Commit, n.Go} {
		if word != "" {
			title += ", " + word
		}
	}
	return title
}

// Summary counts the failures by their states, as "2 new, 1 gone, 40 expected".
func (n *Night) Summary() string {
	counts := map[State]int{}
	expected := 0
	for _, f := range n.Failures {
		if f.Expected {
			expected++
		} else {
			counts[f.State]++
		}
	}
	var words []string
	for _, s := range []State{New, Back, Ongoing, Changed, Unseen, Gone} {
		if counts[s] > 0 {
			words = append(words, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	if expected > 0 {
		words = append(words, fmt.Sprintf("%d expected", expected))
	}
	if len(words) == 0 {
		return "no failure has ever been seen"
	}
	return strings.Join(words, ", ")
}

func (f *Failure) line() string {
	return fmt.Sprintf("%-8s  %-28s  nights %-3d  since %s  %s",
		f.State, f.ID, f.Nights, f.First.Began.Format("2006-01-02"), f.where())
}

// where names the recipe to look at first, and counts the others.
func (f *Failure) where() string {
	where := f.Recipes[0].where()
	if state := f.Recipes[0].State; state != f.State {
		where = fmt.Sprintf("%s in %s", state, where)
	}
	switch more := len(f.Recipes) - 1; more {
	case 0:
		return where
	case 1:
		return where + " and another one"
	default:
		return fmt.Sprintf("%s and %d others", where, more)
	}
}

func (r *Recipe) where() string { return fmt.Sprintf("%s (%s)", r.Kind, r.Recipe) }

// tell tells what is new of a failure.
func (f *Failure) tell(out *strings.Builder, columns int) {
	fmt.Fprintf(out, "\n%s\n", f.ID)
	fmt.Fprint(out, wrap(strings.Join(f.Shape, "; "), "  ", columns))
	if len(f.Like) > 0 {
		fmt.Fprint(out, wrap("of the zoo these break the same way: "+strings.Join(f.Like, ", "), "  ", columns))
	}
	for _, r := range f.Recipes {
		if r.news() {
			told := fmt.Sprintf("%s in %s, %s: %s", r.State, r.where(), r.Reason, r.Message)
			fmt.Fprint(out, wrap(told, "  ", columns))
			fmt.Fprintf(out, "  %s\n", r.Replay) // on one line, whatever its length, so that it can be copied
		}
	}
}

// zoo counts the failures of animals that were seen, and names those that were not.
func (n *Night) zoo() string {
	counts := map[State]int{}
	var missed []string
	for _, f := range n.Failures {
		switch {
		case !f.Expected:
		case f.State == New || f.State == Back || f.State == Ongoing:
			counts[f.State]++
		default:
			missed = append(missed, fmt.Sprintf("%s %s in %s", f.State, f.ID, f.where()))
		}
	}
	var words []string
	for _, s := range []State{New, Back, Ongoing} {
		if counts[s] > 0 {
			words = append(words, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	if words = append(words, missed...); len(words) == 0 {
		return ""
	}
	return "expected, of the zoo: " + strings.Join(words, ", ")
}

// cut shortens a line.
func cut(line string, columns int) string {
	if columns <= 0 || utf8.RuneCountInString(line) <= columns {
		return line
	}
	return string([]rune(line)[:columns-1]) + "…"
}

// wrap breaks a text into lines.
func wrap(text, indent string, columns int) string {
	var out strings.Builder
	line := indent
	for _, word := range strings.Fields(text) {
		if line != indent && columns > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			fmt.Fprintln(&out, line)
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(&out, line)
	return out.String()
}
