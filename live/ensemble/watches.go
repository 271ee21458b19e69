package ensemble

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Watch is a watch that a server keeps for a client.
type Watch struct {
	Session int64
	Path    string
}

// Watches lists the watches that the member keeps for its clients, in its own order (ZooKeeper Administrator's Guide,
// "The Four Letter Words", wchp). It fails if the member does not answer.
func (m *Member) Watches(ctx context.Context) ([]Watch, error) {
	answer, err := m.ask(ctx, "wchp")
	if err != nil {
		return nil, fmt.Errorf("ensemble: the watches of %v: %w", m, err)
	}
	return parseWatches(answer)
}

// parseWatches reads paths, each followed by indented lines with its sessions.
func parseWatches(answer string) (all []Watch, err error) {
	path := ""
	for line := range strings.Lines(answer) {
		line = strings.TrimRight(line, "\r\n")
		number, owned := strings.CutPrefix(line, "\t0x")
		if !owned {
			path = line
			continue
		}
		session, err := strconv.ParseUint(number, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("ensemble: wchp was answered with the session %q, which is not a number", line)
		}
		all = append(all, Watch{int64(session), path})
	}
	return all, nil
}
