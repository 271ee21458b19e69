package strike

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Plan is what is to strike, by client and request.
type Plan map[Place]Strike

// Place is the request at which a fault strikes: n-th of a client, both from 1, or [Hello].
type Place struct{ Client, Request int }

// ReadPlan reads the lines that a run has written of what struck, one for each Strike. Of a line only what is to
// happen counts, and at which request. The error names the line that does not fit the ways and the number of servers.
func ReadPlan(r io.Reader, ways []Way, servers int) (Plan, error) {
	plan := Plan{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, lineMax)
	line := 1
	for ; in.Scan(); line++ {
		if text := bytes.TrimSpace(in.Bytes()); len(text) > 0 {
			if err := plan.add(text, ways, servers); err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return plan, nil
}

// lineMax is the longest line, in bytes: a path may be as long as a frame.
const lineMax = 8 << 20

func (p Plan) add(text []byte, ways []Way, servers int) error {
	var s Strike
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return fmt.Errorf("not a fault that struck: %w", err)
	}
	if s.Fault == "stall" { // as Ignore was called
		s.Fault = Ignore
	}
	at := Place{s.Client, s.Request}
	_, twice := p[at]
	_, known := Find(ways, s.Fault, s.Variant)
	switch {
	case !known:
		return fmt.Errorf("there is no fault %q with the variant %q here", s.Fault, s.Variant)
	case s.Client < 1 || s.Request < 1 && !s.hello():
		return fmt.Errorf("client %d, request %d: both count from 1, and only an answer can be lost at request %d",
			s.Client, s.Request, Hello)
	case s.ForMS < 0 || s.ForMS > LastsMax.Milliseconds():
		return fmt.Errorf("for_ms %d: a fault can last 0 to %d ms", s.ForMS, LastsMax.Milliseconds())
	case twice:
		return fmt.Errorf("client %d's request %d has a fault already: "+
			"a plan is of one run, and the file may have several", s.Client, s.Request)
	}
	if err := s.fits(servers); err != nil {
		return err
	}
	p[at] = s
	return nil
}

// hello reports whether it strikes at the connect of a session that begins.
func (s *Strike) hello() bool { return s.Request == Hello && s.Fault == Loss && s.Variant == Answer }

// fits returns an error if so few servers cannot suffer a fault, or not at its target.
func (s *Strike) fits(servers int) error {
	least := rowOf(s.Fault).servers
	targeted := least > 0
	switch {
	case !targeted && s.Target != 0:
		return fmt.Errorf("target %d: %s does not strike a server", s.Target, s.Fault)
	case servers < least:
		return fmt.Errorf("%s takes %d servers, and there are %d", s.Fault, least, servers)
	case targeted && (s.Target < 1 || s.Target > servers):
		return fmt.Errorf("target %d: %s can strike servers 1 to %d", s.Target, s.Fault, servers)
	}
	return nil
}
