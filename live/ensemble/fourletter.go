package ensemble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// A question is asked again, on another connection, when it has not been answered for a second, then four, and so on.
// The bound is for a server that runs and is not paused, however busy the machine is. The first question may never be
// answered: a server that is asked while it starts can fail to answer and leave the connection open.
const (
	fourLetterFirst = time.Second
	fourLetterMost  = 64 * time.Second
)

// fourLetterMax bounds the answer, in bytes.
const fourLetterMax = 1 << 20

// fourLetter asks a server a four-letter word (ZooKeeper Administrator's Guide, "The Four Letter Words").
func fourLetter(ctx context.Context, address, word string) (answer string, err error) {
	for limit := fourLetterFirst; limit <= fourLetterMost; limit *= 4 {
		answer, err = askOnce(ctx, address, word, limit)
		if !errors.Is(err, os.ErrDeadlineExceeded) || ctx.Err() != nil {
			break
		}
	}
	return answer, err
}

func askOnce(ctx context.Context, address, word string, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, fourLetterMax))
	return string(answer), err
}

// Status is what a server says of itself.
type Status struct {
	Mode string // "leader", "follower" or "standalone"
	Zxid int64  // the last transaction it knows; its upper half is the leader's epoch
}

var errNotServing = errors.New("runs but does not serve: it is not in touch with a majority")

// status returns errNotServing for a server that is looking for a leader.
func (m *Member) status(ctx context.Context) (Status, error) {
	answer, err := m.ask(ctx, "srvr")
	if err != nil {
		return Status{}, err
	}
	if strings.Contains(answer, "not currently serving") {
		return Status{}, errNotServing
	}
	mode, zxid := field(answer, "Mode: "), field(answer, "Zxid: 0x")
	if mode == "" {
		return Status{}, fmt.Errorf("answered srvr with %.200q, which names no mode", answer)
	}
	number, err := strconv.ParseInt(zxid, 16, 64)
	if err != nil {
		return Status{}, fmt.Errorf("answered srvr with the zxid %q, which is not a number", zxid)
	}
	return Status{mode, number}, nil
}

// field returns the rest of the line that begins with a prefix.
func field(answer, prefix string) string {
	for line := range strings.Lines(answer) {
		if value, ok := strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// dataDir returns where the server keeps its data, which tells whose server it is.
func (m *Member) dataDir(ctx context.Context) (string, error) {
	answer, err := m.ask(ctx, "conf")
	if err != nil {
		return "", err
	}
	return field(answer, "dataDir="), nil
}
