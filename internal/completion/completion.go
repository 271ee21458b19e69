// Package completion completes command lines in bash, zsh and fish.
//
// # The model
//
// A shell runs a small script ([Script]) that hands the words of the command line to the program, which answers with
// what can come next ([Candidates]). So the answer is that of the program which will run, with its own kinds and recipes.
package completion

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Candidate is a word that can come next.
type Candidate struct{ Word, Help string }

// Answer is what can come next.
type Answer struct {
	Words []Candidate
	Files Files // besides
}

// Files says which names of files can come next.
type Files string

// The names of files. The zero value is none.
const (
	AnyFile Files = "files"
	Folders Files = "folders"
)

// Source knows the values of a flag, as "--recipe", or of an argument, as "<workload>". Line is the command line so far.
type Source func(line *Line, name string) Answer

// Line is a command line, the last word of which is to be completed.
type Line struct {
	Command *kong.Node // the command, or the program as long as there is none
	Args    []string   // arguments of the command before the last word
	args    *kong.Value
	flag    *kong.Flag // of which the last word is the value
	last    string     // the last word, or the part of it that is a value
	prefix  string     // what comes before that
}

// Candidates answers what can stand in the place of the last word.
func Candidates(app *kong.Application, words []string, values Source) Answer {
	line := read(app, words)
	var answer Answer
	switch {
	case line.flag != nil:
		answer = line.values(values, "--"+line.flag.Name, line.flag.PlaceHolder)
	case strings.HasPrefix(line.last, "-") && !line.Command.Passthrough:
		answer.Words = line.flags()
	case len(line.Command.Children) > 0:
		answer.Words = children(line.Command)
	case line.args != nil:
		answer = line.values(values, "<"+line.args.Name+">", line.args.Name)
	}
	return line.beginning(answer)
}

// values are those of a source; without any, files if a placeholder tells of them.
func (l *Line) values(source Source, name, placeholder string) Answer {
	answer := source(l, name)
	switch placeholder = strings.ToUpper(placeholder); {
	case answer.Files != "" || answer.Words != nil:
	case strings.Contains(placeholder, "FILE"):
		answer.Files = AnyFile
	case strings.Contains(placeholder, "DIR"):
		answer.Files = Folders
	}
	return answer
}

// read finds the command of the words, and what the last of them is.
func read(app *kong.Application, words []string) *Line {
	line := &Line{Command: app.Node}
	if len(words) == 0 {
		words = []string{""}
	}
	before, last := words[:len(words)-1], words[len(words)-1]
	for i := 0; i < len(before); i++ {
		line.flag = nil
		if child := childNamed(line.Command, before[i]); child != nil {
			line.Command = child
			continue
		}
		flag, whole := line.flagNamed(before[i])
		switch {
		case flag == nil && (line.Command.Passthrough || !strings.HasPrefix(before[i], "-")):
			line.Args = append(line.Args, before[i])
		case flag != nil && !whole && !flag.IsBool() && i+1 < len(before):
			i++ // its value
		case flag != nil && !whole && !flag.IsBool():
			line.flag = flag
		}
	}
	line.end(last)
	return line
}

// end takes the last word.
func (l *Line) end(last string) {
	l.last = last
	if flag, whole := l.flagNamed(last); l.flag == nil && flag != nil && whole && !flag.IsBool() {
		name, value, _ := strings.Cut(last, "=")
		l.flag, l.prefix, l.last = flag, name+"=", value
	}
	for i, arg := range l.Command.Positional {
		if i == len(l.Args) || arg.IsCumulative() {
			l.args = arg
			break
		}
	}
}

func childNamed(node *kong.Node, name string) *kong.Node {
	i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return node.Children[i]
}

func children(node *kong.Node) (list []Candidate) {
	for _, child := range node.Children {
		if !child.Hidden {
			list = append(list, Candidate{child.Name, child.Help})
		}
	}
	return list
}

// flagNamed returns the flag that a word is, and whether it has its value in it.
func (l *Line) flagNamed(word string) (flag *kong.Flag, whole bool) {
	name, _, whole := strings.Cut(word, "=")
	if l.Command.Passthrough {
		return nil, false
	}
	for _, group := range l.Command.AllFlags(false) {
		for _, f := range group {
			if "--"+f.Name == name || f.Short != 0 && "-"+string(f.Short) == name {
				return f, whole
			}
		}
	}
	return nil, whole
}

// flags are those of the command, in the order of the alphabet.
func (l *Line) flags() (list []Candidate) {
	for _, group := range l.Command.AllFlags(true) {
		for _, f := range group {
			list = append(list, Candidate{"--" + f.Name, f.Help})
		}
	}
	slices.SortFunc(list, func(a, b Candidate) int { return cmp.Compare(a.Word, b.Word) })
	return list
}

// beginning keeps the words that begin like the last word, and makes whole words of them.
func (l *Line) beginning(a Answer) Answer {
	kept := Answer{Files: a.Files}
	for _, c := range a.Words {
		if strings.HasPrefix(c.Word, l.last) {
			kept.Words = append(kept.Words, Candidate{l.prefix + c.Word, c.Help})
		}
	}
	return kept
}

// List makes values of a list with commas: those that can come after the ones that are there. Sets stand alone.
func (l *Line) List(sets, values []Candidate) (list []Candidate) {
	before := l.last[:strings.LastIndexByte(l.last, ',')+1]
	if before == "" {
		list = slices.Clone(sets)
	}
	given := strings.Split(before, ",")
	for _, v := range values {
		if !slices.Contains(given, v.Word) {
			list = append(list, Candidate{before + v.Word, v.Help})
		}
	}
	return list
}

// Write writes an answer for the scripts: a word and its help in a line, then what kind of files there may be.
func (a Answer) Write(w io.Writer) error {
	var b strings.Builder
	for _, c := range a.Words {
		fmt.Fprintf(&b, "%s\t%s\n", c.Word, firstSentence(c.Help))
	}
	if a.Files != "" {
		fmt.Fprintf(&b, ":%s\n", a.Files)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// firstSentence is what fits beside a word.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	first, _, cut := strings.Cut(text, ". ")
	if cut {
		return first
	}
	return strings.TrimSuffix(first, ".")
}
