package story

import (
	"fmt"
	"slices"
	"strings"
)

// ask marks what the verdict is about: the operations of its certificate, the sessions and znodes that
// its sentence names, and the znodes that those operations made.
func (t *teller) ask() {
	s := t.story
	for i := range s.Sessions {
		s.Sessions[i].Asked = names(s.Message, s.Sessions[i].ID)
	}
	t.askOperations()
	for i, z := range s.Znodes {
		s.Znodes[i].Asked = names(s.Message, z.Path) || slices.ContainsFunc(z.Lives, func(l Life) bool {
			return l.Maker >= 0 && s.Operations[l.Maker].Asked
		})
	}
	for i, e := range s.Events {
		whole := e.Kind == KindCall || e.Kind == KindReturn
		s.Events[i].Asked = whole && e.Operation >= 0 && s.Operations[e.Operation].Asked
	}
}

func (t *teller) askOperations() {
	s := t.story
	for _, op := range t.replayed.Violation.Ops {
		t.askOperation(t.operation(op.Number))
	}
	for i := range s.Operations {
		if s.nameOperation(i) {
			t.askOperation(i)
		}
	}
	for _, wait := range s.Waits {
		t.askOperation(wait.Operation)
	}
}

func (t *teller) askOperation(i int) {
	if i >= 0 {
		t.story.Operations[i].Asked = true
	}
}

// nameOperation tells whether the sentence names an operation, in the words in which workloads do.
func (s *Story) nameOperation(i int) bool {
	o := s.Operations[i]
	when := fmt.Sprintf("steps %d to %d", o.Call, o.Return)
	if o.Return < 0 {
		when = fmt.Sprintf("step %d", o.Call)
	}
	return names(s.Message, fmt.Sprintf("%s's %s(%s) at %s", s.user(o.Client, o.User), o.Name, o.Arg, when))
}

// user names a user as messages do.
func (s *Story) user(client, user int) string {
	name := s.Clients[client].Name
	if user > 0 {
		name += fmt.Sprintf(" (user %d)", user+1)
	}
	return name
}

// names tells whether a sentence has a word, which is not only the begin of a longer one.
func names(sentence, word string) bool {
	for {
		i := strings.Index(sentence, word)
		if i < 0 {
			return false
		}
		sentence = sentence[i+len(word):]
		if sentence == "" || !strings.ContainsRune(wordRunes, rune(sentence[0])) {
			return true
		}
	}
}

const wordRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/"
