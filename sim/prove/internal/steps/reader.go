package steps

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Step is one step of a file, with the numbers of states, and [Start] or [End] in their place.
type Step struct {
	From, To int32
	Deed     int32
	Inner    []int
}

const (
	Start = -1 // where set-ups begin
	End   = -1 // of the torture phase
)

// Set is all of a file, with its states.
type Set struct {
	Deeds  []string
	All    []Step
	Keys   []uint64 // of states: their hashes …
	Parent []int32  // … by which step they were come to first …
	First  []int32  // … and their first step
	SetUps []int32
}

// Of are the steps of a state, or all set-ups.
func (s *Set) Of(state int32) (some []*Step) {
	if state == Start {
		for _, i := range s.SetUps {
			some = append(some, &s.All[i])
		}
		return some
	}
	for i := s.First[state]; int(i) < len(s.All) && s.All[i].From == state; i++ {
		some = append(some, &s.All[i])
	}
	return some
}

// PathTo are the steps from the set-up to one, which is the last.
func (s *Set) PathTo(i int) (path []*Step) {
	for at := &s.All[i]; ; at = &s.All[s.Parent[at.From]] {
		if path = append(path, at); at.From == Start {
			slices.Reverse(path)
			return path
		}
	}
}

// Parse takes a deed apart: the number of a fault or 0, its variant, and its target or the action.
func Parse(deed string) (fault, variant int, what string) {
	first, rest, _ := strings.Cut(deed, " ")
	second, what, _ := strings.Cut(rest, " ")
	fault, _ = strconv.Atoi(first) // an error is 0, which does not happen there
	variant, _ = strconv.Atoi(second)
	return fault, variant, what
}

var errFile = errors.New("not a file of steps, or cut off or altered")

// Read reads a file of at most so many states.
func Read(file io.Reader, statesMax int) (*Set, error) {
	zip, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFile, err)
	}
	r := &reader{in: bufio.NewReaderSize(zip, 1<<16)}
	head := make([]byte, len(format))
	if n, err := io.ReadFull(r.in, head); err != nil || string(head) != format {
		return nil, fmt.Errorf("%w: it begins with %q, wanted is %q", errFile, head[:n], format)
	}
	s := &Set{}
	for {
		if _, err := r.in.Peek(1); err == io.EOF {
			return s, nil
		}
		if r.step(s); r.err == nil && len(s.Keys) > statesMax {
			r.err = fmt.Errorf("it has more than the certificate's %d states", statesMax)
		}
		if r.err != nil {
			return nil, fmt.Errorf("%w: step %d: %w", errFile, len(s.All), r.err)
		}
	}
}

type reader struct {
	in  *bufio.Reader
	err error
}

const numberMax = 1 << 20 // of a deed, and of choices

// number reads a number below a limit.
func (r *reader) number(limit int) int {
	n, err := binary.ReadUvarint(r.in)
	if err == nil && n >= uint64(limit) {
		n, err = 0, fmt.Errorf("%d, and at most %d can be", n, limit-1)
	}
	r.err = cmp.Or(r.err, err)
	return int(n)
}

func (r *reader) step(s *Set) {
	which := r.number(numberMax)
	t := Step{Deed: int32(which>>1) - 1, From: Start}
	if t.Deed < 0 {
		text := make([]byte, r.number(1<<10))
		_, err := io.ReadFull(r.in, text)
		r.err = cmp.Or(r.err, err)
		t.Deed = int32(len(s.Deeds))
		s.Deeds = append(s.Deeds, string(text))
	}
	setUp := r.err == nil && int(t.Deed) < len(s.Deeds) && s.Deeds[t.Deed] == ""
	switch same := which&1 != 0; {
	case r.err != nil:
	case int(t.Deed) >= len(s.Deeds) || same && (setUp || len(s.First) == 0 || s.All[len(s.All)-1].From == Start):
		r.err = errors.New("it has no deed, or no state")
	case setUp:
		s.SetUps = append(s.SetUps, int32(len(s.All)))
	case same:
		t.From = int32(len(s.First)) - 1
	default:
		if t.From = int32(len(s.First)); int(t.From) >= len(s.Keys) {
			r.err = fmt.Errorf("it is of state %d, to which no step leads", t.From)
		}
		s.First = append(s.First, int32(len(s.All)))
	}
	if n := r.number(numberMax); n > 0 {
		t.Inner = make([]int, 0, min(n, 64))
		for range n {
			if t.Inner = append(t.Inner, r.number(numberMax)); r.err != nil {
				return
			}
		}
	}
	switch to := r.number(len(s.Keys) + 2); to {
	case 0:
		t.To = End
	case 1:
		var key uint64
		r.err = cmp.Or(r.err, binary.Read(r.in, binary.LittleEndian, &key))
		t.To = int32(len(s.Keys))
		s.Keys = append(s.Keys, key)
		s.Parent = append(s.Parent, int32(len(s.All)))
	default:
		t.To = int32(1 + len(s.Keys) - to)
	}
	s.All = append(s.All, t)
}
