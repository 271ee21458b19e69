package postmortem

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hold is what a client says: that a session of its own held a lock from when to when.
type hold struct {
	lock       *lock
	session    int64
	begin, end uint64 // surely within it, in the unit of the claims
	line       int
	said       string
	Shared     bool
}

// claims are what clients say, by the beginnings of the holds.
type claims struct {
	holds  []*hold
	clocks bool // moments are times of clocks, in milliseconds; else zxids
	short  int  // holds that are shorter than clocks differ
	early  int  // … that ended before the log begins
}

// instant is when a transaction was, in the unit of the claims.
func (c *claims) instant(t transaction) uint64 {
	if c.clocks {
		return uint64(t.time)
	}
	return uint64(t.zxid)
}

// begin leaves out the holds that ended before the first transaction of a log: of their time nothing is known.
func (c *claims) begin(first transaction) {
	all := len(c.holds)
	c.holds = slices.DeleteFunc(c.holds, func(h *hold) bool { return h.end <= c.instant(first) })
	c.early = all - len(c.holds)
}

// compared is how many holds were.
func (j *judge) compared() int { return j.named - j.short - j.early - j.strangers - len(j.holds) }

// endings are holds, the one that ends soonest first.
type endings []*hold

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, k int) bool { return e[i].end < e[k].end }
func (e endings) Swap(i, k int)      { e[i], e[k] = e[k], e[i] }
func (e *endings) Push(h any)        { *e = append(*e, h.(*hold)) }
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// claim is a line of a file of them.
type claim struct {
	Lock    string          `json:"lock"`    // the path of the folder of a lock's znodes, or of its znode
	Session any             `json:"session"` // as ZooKeeper writes it, 0x100000a1b2c0001, or a number
	From    json.RawMessage `json:"from"`
	To      json.RawMessage `json:"to"`
	Shared  bool            `json:"shared"`
}

// readClaims reads what clients say. Clocks of clients and of servers may differ by so much: of a hold, that much is
// left out at both ends.
func (j *judge) readClaims(in io.Reader, differ time.Duration) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	n := 0
	for n = 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		if err := j.claim(lines.Text(), n, uint64(differ.Milliseconds())); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	slices.SortStableFunc(j.holds, func(a, b *hold) int { return cmp.Compare(a.begin, b.begin) })
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n, err)
	}
	return nil
}

func (j *judge) claim(text string, line int, differ uint64) error {
	var c claim
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return fmt.Errorf(`it is no hold, such as {"lock":"/locks/a","session":"0x100000a1b2c0001","from":"0x5","to":"0x9"}: %w`, err)
	}
	if d.More() {
		return errors.New("there is more after the hold; write one a line")
	}
	session, err := strconv.ParseUint(fmt.Sprint(c.Session), 0, 64)
	if !strings.HasPrefix(c.Lock, "/") {
		return errors.New(`"lock" is missing: it is the path of the folder of the lock's znodes, or of its znode`)
	} else if err != nil || session == 0 {
		return errors.New(`"session" is missing or no session, such as "0x100000a1b2c0001"`)
	}
	from, isTime, err := instantOf(c.From)
	if err != nil {
		return fmt.Errorf("\"from\": %w", err)
	}
	to, said := uint64(math.MaxUint64), "from "+string(c.From)+" on"
	if len(c.To) > 0 && string(c.To) != "null" {
		var likewise bool
		if to, likewise, err = instantOf(c.To); err != nil {
			return fmt.Errorf("\"to\": %w", err)
		} else if likewise != isTime {
			return errors.New(`"from" and "to" are a zxid and a time; write both as the same`)
		} else if to < from {
			return errors.New(`"to" is before "from"`)
		}
		said = "from " + string(c.From) + " to " + string(c.To)
	}
	if len(j.of) > 0 && isTime != j.clocks {
		return errors.New("lines before it have zxids and it has times, or the reverse; write all as the same")
	}
	if j.clocks = isTime; isTime {
		from += differ
		if to != math.MaxUint64 {
			to -= min(to, differ)
		}
	}
	j.named++
	if j.of[int64(session)] == nil {
		j.of[int64(session)] = &life{}
	}
	if from >= to {
		j.lock(c.Lock)
		j.short++
		return nil
	}
	j.holds = append(j.holds, &hold{j.lock(c.Lock), int64(session), from, to, line, strings.ReplaceAll(said, `"`, ""), c.Shared})
	return nil
}

// instantOf is a zxid, or a time in milliseconds.
func instantOf(text json.RawMessage) (at uint64, isTime bool, err error) {
	s := strings.Trim(string(text), `"`)
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return uint64(t.UnixMilli()), true, nil
	}
	if at, err := strconv.ParseUint(s, 0, 64); err == nil {
		return at, false, nil
	}
	return 0, false, fmt.Errorf("%q is no zxid, such as 0x100000005, and no time, such as 2026-01-02T15:04:05.678Z", s)
}
