package story

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// words describes an event briefly, with the short names of znodes and sessions. It does not mark faults.
func (s *Story) words(e Event) string {
	switch e.Kind {
	case KindBegins:
		return s.Sessions[e.Session].Name + " begins" + s.place(e)
	case KindResumes:
		return s.Sessions[e.Session].Name + " goes on" + s.place(e)
	case KindLearns:
		return "learns that " + s.Sessions[e.Session].Name + " has expired"
	case KindEnds:
		return s.Sessions[e.Session].ended()
	case KindFault:
		return e.What + ": " + s.fault(e)
	case KindWatch:
		return join("event", s.short(e.Path), e.What)
	case KindReply:
		return "reply: " + s.request(e)
	case KindRequest, KindExchange:
		return s.request(e)
	case KindHealed, KindClosed, KindRefused:
		return s.short(e.Result)
	}
	return join(s.short(e.What), s.short(e.Result))
}

// wordsOfUser is words with the user, if its client has several.
func (s *Story) wordsOfUser(e Event) string {
	if e.User >= 0 && e.Client >= 0 && s.Clients[e.Client].Users > 1 {
		return fmt.Sprintf("u%d %s", e.User+1, s.words(e))
	}
	return s.words(e)
}

// marked is words with a mark on faults.
func (s *Story) marked(e Event) string {
	if e.Kind == KindFault {
		return "! " + s.words(e)
	}
	return s.words(e)
}

// fault describes a fault. What is lost is named with its znode.
func (s *Story) fault(e Event) string {
	if e.Fate != "" {
		return join(e.Subject, s.short(e.Path), e.Fate)
	}
	return join(s.short(e.Result), s.short(e.Path))
}

// place names the server, if there are several.
func (s *Story) place(e Event) string {
	if s.Servers < 2 || e.Server < 0 {
		return ""
	}
	return fmt.Sprintf(" at server %d", e.Server)
}

func (z Session) ended() string {
	if z.Expired {
		return z.Name + " expires at the servers"
	}
	return z.Name + " ends"
}

// request describes a request and its result. A created znode is named once.
func (s *Story) request(e Event) string {
	if e.Made != "" {
		return join(e.What, s.short(e.Made))
	}
	return join(e.What, s.short(e.Path), s.short(e.Answer))
}

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

// wordLike matches what may be the path or name of a znode, or a session.
var wordLike = regexp.MustCompile(`[^\s\[\]();:,"']+`)

// short replaces the names of znodes and sessions in a text by short ones.
func (s *Story) short(text string) string { return wordLike.ReplaceAllStringFunc(text, s.shortWord) }

func (s *Story) shortWord(word string) string {
	for _, session := range s.Sessions {
		if session.ID == word {
			return session.Name
		}
	}
	for _, z := range s.Znodes {
		if z.Path == word || lastPart(z.Path) == word {
			return z.Name
		}
	}
	if below, ok := strings.CutPrefix(word, s.Root+"/"); ok { // the begin of a sequential znode's path
		return abbreviate(below, "")
	}
	return guid.ReplaceAllString(word, "$1…") // in data, for example
}
