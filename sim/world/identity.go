package world

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// In an ordinary build os.Hostname and os.Getpid are those of the machine, the same in all processes of a world and in all their
// lives. Code that knows itself by them takes what another has written for its own: that says nothing of the code.

// identity is what a life of a process wanted to write, as a znode's data or its name, with the machine's words in it.
type identity struct {
	text          string
	pid           bool // the process id is in it, which no other life of the process has, either
	process, life int
}

// machine are the words that such a text has: the machine's name and the number of this process.
var machine = sync.OnceValue(func() (words struct{ host, pid string }) {
	words.host, _ = os.Hostname()
	words.pid = strconv.Itoa(os.Getpid())
	return words
})

// certainPid is how many digits a process id has that is not a number by chance, where the host's name is not beside it.
const certainPid = 4

// noteIdentities notes what a process wants to write.
func (p *process) noteIdentities(r *fakezk.Request) {
	if bubble.Exact {
		return // see hostWithin
	}
	switch r.Op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		p.noteIdentity(r.Path[strings.LastIndexByte(r.Path, '/')+1:])
		p.noteIdentity(string(r.Data))
	case wire.OpSetData:
		p.noteIdentity(string(r.Data))
	case wire.OpMulti:
		for i := range r.Ops {
			p.noteIdentities(&r.Ops[i])
		}
	}
}

func (p *process) noteIdentity(text string) {
	words := machine()
	host, pid := isWord(words.host, text), isWord(words.pid, text)
	if !pid && (!host || words.host == "localhost") || !host && len(words.pid) < certainPid {
		return
	}
	id := identity{text, pid, p.id, p.incarnation}
	if w := p.world; !slices.Contains(w.identities, id) {
		w.identities = append(w.identities, id)
	}
}

// isWord reports whether a word is in a text and does not go on there to either side.
func isWord(word, text string) bool {
	for at := 0; word != ""; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		begin, end := at+i, at+i+len(word)
		if (begin == 0 || !isAlphanumeric(text[begin-1])) && (end == len(text) || !isAlphanumeric(text[end])) {
			return true
		}
		at = begin + 1
	}
	return false
}

func isAlphanumeric(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// shared says which processes wanted to write the same identity, "" if none did.
func (w *World) shared() string {
	for i, a := range w.identities {
		for _, b := range w.identities[:i] {
			if a.text != b.text || a.process == b.process && !a.pid {
				continue
			}
			who := fmt.Sprintf("c%d and c%d write the same", b.process+1, a.process+1)
			if a.process == b.process {
				who = fmt.Sprintf("c%d writes the same before and after a crash", a.process+1)
			}
			return fmt.Sprintf("%s, %q: in an ordinary build the processes of a simulated world share this machine's host name "+
				"and process id. Run it by torture test, or torture run --exact, where each process has its own; or let the "+
				"recipe take an identity that differs (recipes.NewGUID)", who, a.text)
		}
	}
	return ""
}
