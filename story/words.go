package story

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// prose says in words what a story has as facts, with the short names of znodes and sessions.
type prose struct{ *Story }

// user names a user as messages do.
func (s prose) user(client, user int) string {
	name := s.Clients[client].Name
	if user > 0 {
		name += fmt.Sprintf(" (user %d)", user+1)
	}
	return name
}

// words describes an event briefly, with the short names of znodes and sessions. It does not mark faults.
func (s prose) words(e Event) string {
	switch e.Kind {
	case kindBegins:
		return s.Sessions[e.Session].Name + " begins" + s.server("at", e)
	case kindResumes:
		return s.Sessions[e.Session].Name + " reconnects" + s.server("to", e)
	case kindLearns:
		return "learns that " + s.Sessions[e.Session].Name + " has expired"
	case kindEnds:
		return s.Sessions[e.Session].ended()
	case kindFault:
		return e.What + ": " + s.fault(e)
	case kindWatch:
		return join("event", s.short(e.Path), e.What)
	case kindReply:
		return "reply: " + s.request(e)
	case kindRequest, kindExchange:
		return s.request(e)
	case kindFails:
		return join(e.What, s.short(e.Path), e.Result)
	case kindFull:
		return "dropped " + e.Result
	case kindHealed, kindClosed, kindRefused:
		return s.short(e.Result)
	case kindCall:
		if s.Operations[e.Operation].Again {
			return e.What + ", once more by the test"
		}
	case kindShared:
		result := strings.TrimSuffix(s.short(e.Result), " with token 0") // of a recipe without tokens
		switch {
		case e.What == "calm":
			return "no more faults from here"
		case e.What == "alone":
			return "only " + s.user(e.Client, max(e.User, 0)) + " is left; no more faults from here"
		case strings.HasPrefix(result, "accepted"):
			return fmt.Sprintf("uses it (%s %s)", e.What, result)
		}
		return join(s.short(e.What), result)
	case kindReturn:
		return join(e.What, s.short(s.Operations[e.Operation].outcome()))
	}
	return join(s.short(e.What), s.short(e.Result))
}

// wordsOfUser is words with the user, if its client has several.
func (s prose) wordsOfUser(e Event) string {
	if e.User >= 0 && e.Client >= 0 && s.Clients[e.Client].Users > 1 {
		return fmt.Sprintf("u%d %s", e.User+1, s.words(e))
	}
	return s.words(e)
}

// marked is words with a mark on faults.
func (s prose) marked(e Event) string {
	if e.Kind == kindFault {
		return "! " + s.words(e)
	}
	return s.words(e)
}

// fault describes a fault. What is lost is named with its znode.
func (s prose) fault(e Event) string {
	if of := s.short(e.Path); e.Ends != "" {
		return map[string]string{
			"sticks":   "the sequence numbers of " + of + " stay at 2147483647, and setWatches misses what is created below it",
			"numbers":  "the sequence numbers of " + of + " pass 2147483647, and go on at -2147483648",
			"version":  "the version of " + of + " passes 2147483647, and goes on at -2147483648",
			"aversion": "the version of the ACL of " + of + " passes 2147483647, and goes on at -2147483648",
			"cversion": "the version of the children of " + of + " passes 2147483647, and goes on at -2147483648",
		}[e.Ends]
	}
	if e.Fate != "" {
		return join(e.Subject, s.short(e.Path), e.Fate)
	}
	return join(s.short(e.Result), s.short(e.Path))
}

// server names the server, if there are several.
func (s prose) server(preposition string, e Event) string {
	if s.Servers < 2 || e.Server < 0 {
		return ""
	}
	return fmt.Sprintf(" %s server %d", preposition, e.Server)
}

func (z Session) ended() string {
	if z.Expired {
		return z.Name + " expires at the servers"
	}
	return z.Name + " ends"
}

// request describes a request and its result. A created znode is named once, and of data that are set both are told.
func (s prose) request(e Event) string {
	if e.Made != "" {
		return join(e.What, s.short(e.Made))
	}
	for _, z := range s.Znodes {
		for _, l := range z.Lives {
			if i := slices.Index(l.Sets, e.Step); e.What == "set" && z.Path == e.Path && i >= 0 && i+1 < len(l.Data) {
				return join(e.What, z.Name, l.Data[i], "→", l.Data[i+1], strings.TrimSuffix(e.Answer, "ok"))
			}
		}
	}
	return join(e.What, s.short(e.Path), s.shortBelow(e.Path, e.Answer))
}

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

// wordLike matches what may be the path or name of a znode, or a session.
var wordLike = regexp.MustCompile(`[^\s\[\]();:,"']+`)

// short replaces the names of znodes and sessions in a text by short ones.
func (s prose) short(text string) string { return s.shortBelow("", text) }

// shortBelow is short for a text about a directory: names are first those of its children.
func (s prose) shortBelow(dir, text string) string {
	return wordLike.ReplaceAllStringFunc(text, func(word string) string {
		for _, z := range s.Znodes {
			if z.Path == dir+"/"+word {
				return z.Name
			}
		}
		return s.shortWord(word)
	})
}

func (s prose) shortWord(word string) string {
	for _, session := range s.Sessions {
		if session.ID == word {
			return session.Name
		}
	}
	for _, z := range s.Znodes {
		if z.Path == word || path.Base(z.Path) == word && !strings.Contains(z.Name, "/") { // else it may be any word
			return z.Name
		}
	}
	if below, ok := strings.CutPrefix(word, s.Root+"/"); ok { // the begin of a sequential znode's path
		return abbreviate(below, "")
	}
	return guid.ReplaceAllString(word, "$1…") // in data, for example
}
