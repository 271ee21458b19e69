package serving

import (
	"strings"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
)

// strikes are faults of what stands between clients and servers.
type strikes struct {
	text   string
	faults []strike.Fault
}

func (s *strikes) parse(text string, from []strike.Fault) (err error) {
	known := []string{"all", "none"}
	for _, f := range from {
		known = append(known, string(f))
	}
	for name := range strings.SplitSeq(text, ",") {
		if err := console.Known("fault", strings.TrimPrefix(strings.TrimSpace(name), "-"), known); err != nil {
			return err
		}
	}
	s.text = text
	s.faults, err = strike.Parse(text, from)
	return err
}

// proxyFaults are those of torture proxy, and serveFaults those of torture serve.
type (
	proxyFaults struct{ strikes }
	serveFaults struct{ strikes }
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *proxyFaults) UnmarshalText(text []byte) error {
	return f.parse(string(text), strike.Faults(strike.OnProxy))
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *serveFaults) UnmarshalText(text []byte) error { return f.parse(string(text), servedFaults()) }

// servedFaults are the faults of torture serve.
func servedFaults() []strike.Fault { return strike.FaultsOf(serversMax) }

// serversMax is the largest number of servers of torture serve.
const serversMax = 5
