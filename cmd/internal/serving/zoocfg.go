package serving

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
)

// settings are those of a zoo.cfg that servers for tests have, with ZooKeeper's defaults. Times are in milliseconds.
type settings struct {
	host           string // clientPortAddress
	maxClientCnxns int
	ensemble       fakezk.Config
	ignored        []string // settings that servers for tests do not have
}

// sessionMax is the longest session timeout that the protocol can express, in milliseconds.
const sessionMax = math.MaxInt32

// readZooCfg reads a zoo.cfg; nil is an empty one.
func readZooCfg(in io.Reader) (*settings, error) {
	s := &settings{host: "127.0.0.1", maxClientCnxns: 60, ensemble: fakezk.Config{Tick: 2000, SyncLimit: 5,
		BufferMax: 1<<20 - 1, ReapInterval: 60_000, Order: rand.Uint64()}}
	if in == nil {
		return s, nil
	}
	lines := bufio.NewScanner(in)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("line %d: %q is no setting: NAME=VALUE is needed", number, line)
		}
		if err := s.set(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return s, s.check()
}

func (s *settings) set(key, value string) error {
	to := &s.ensemble
	whole, least, most := (*int64)(nil), int64(1), int64(sessionMax)
	switch key {
	case "tickTime":
		whole = &to.Tick
	case "minSessionTimeout":
		whole = &to.MinSession
	case "maxSessionTimeout":
		whole = &to.MaxSession
	case "syncLimit":
		whole = &to.SyncLimit
	case "znode.container.checkIntervalMs":
		whole = &to.ReapInterval
	case "jute.maxbuffer":
		whole, least, most = &to.BufferMax, 1024, 1<<30
	case "maxClientCnxns":
		n := int64(0)
		if err := number(key, value, &n, 0, sessionMax); err != nil {
			return err
		}
		s.maxClientCnxns = int(n)
		return nil
	case "clientPortAddress":
		s.host = value
		return nil
	case "extendedTypesEnabled", "zookeeper.extendedTypesEnabled":
		to.TTL = value == "true"
		return nil
	case "DigestAuthenticationProvider.superDigest", "zookeeper.DigestAuthenticationProvider.superDigest":
		to.Super = value
		return nil
	default:
		s.ignored = append(s.ignored, key)
		return nil
	}
	return number(key, value, whole, least, most)
}

func number(key, value string, to *int64, least, most int64) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < least || n > most {
		return fmt.Errorf("%s=%s: a whole number from %d to %d is needed", key, value, least, most)
	}
	*to = n
	return nil
}

func (s *settings) check() error {
	e := s.ensemble
	least := cmp.Or(e.MinSession, 2*e.Tick)
	most := cmp.Or(e.MaxSession, 20*e.Tick)
	if most < least {
		return fmt.Errorf("the longest session timeout, %d ms, is less than the shortest, %d ms", most, least)
	}
	if most > sessionMax {
		return fmt.Errorf("sessions can take at most %d ms: choose a shorter tickTime or maxSessionTimeout", sessionMax)
	}
	return nil
}
