package sim

import "fmt"

// Sentence is a text for people, with the sessions and znodes that it names.
type Sentence struct {
	Text     string
	Sessions []int64
	Paths    []string
}

// Path is a znode in a [Sentence].
type Path string

// SessionID is a session in a [Sentence]; it prints as 0x100000000000001.
type SessionID int64

func (id SessionID) String() string { return fmt.Sprintf("0x%x", int64(id)) }

// Say makes a sentence as [fmt.Sprintf] does. It names the arguments of the types [Path] and [SessionID], and what
// arguments of the type Sentence name.
func Say(format string, args ...any) Sentence {
	s := Sentence{Text: fmt.Sprintf(format, args...)}
	for _, a := range args {
		switch a := a.(type) {
		case Path:
			s.Paths = append(s.Paths, string(a))
		case SessionID:
			s.Sessions = append(s.Sessions, int64(a))
		case Sentence:
			s.Sessions, s.Paths = append(s.Sessions, a.Sessions...), append(s.Paths, a.Paths...)
		}
	}
	return s
}

func (s Sentence) String() string { return s.Text }

// Saying returns the violation with a message that is made as [Say] makes sentences, and with what that names.
func (v Violation) Saying(format string, args ...any) Violation {
	s := Say(format, args...)
	v.Message, v.Sessions, v.Paths = s.Text, s.Sessions, s.Paths
	return v
}
