package worker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/workload"
)

const document = "../../docs/workers.md"

// said is a line of a transcript.
type said struct {
	byRunner bool
	text     string
}

// transcript reads the transcript of the document: lines of the runner begin with >, of the worker with <.
func transcript() ([]said, error) {
	text, err := os.ReadFile(document)
	if err != nil {
		return nil, err
	}
	block := regexp.MustCompile("(?s)```transcript\n(.*?)```").FindSubmatch(text)
	if block == nil {
		return nil, fmt.Errorf("%s has no transcript", document)
	}
	var all []said
	for line := range strings.Lines(string(block[1])) {
		text := strings.TrimSuffix(line, "\n")
		if len(text) < 3 || text[0] != '>' && text[0] != '<' {
			return nil, fmt.Errorf("%s: %q is no line of a transcript", document, text)
		}
		all = append(all, said{text[0] == '>', text[2:]})
	}
	return all, nil
}

// A worker says, word for word, what the document says.
func TestWorkerSaysTheTranscript(t *testing.T) {
	all, err := transcript()
	if err != nil {
		t.Fatal(err)
	}
	p := newPlay(t)
	for _, line := range all {
		if line.byRunner {
			fmt.Fprintln(p.in, line.text)
			continue
		}
		p.strike(line.text)
		if !p.out.Scan() || p.out.Text() != line.text {
			t.Fatalf("the worker says\n%s\nthe document says\n%s", p.out.Text(), line.text)
		}
	}
	p.in.Close()
	if p.out.Scan() {
		t.Errorf("the worker says more: %s", p.out.Text())
	}
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
}

// play is a worker in this process, on a fake ZooKeeper.
type play struct {
	in    io.WriteCloser
	out   *bufio.Scanner
	ended chan error
	zk    *goclient.Local
	conn  *goclient.Conn
	tell  func(worker.State)
}

func newPlay(t *testing.T) *play {
	in, write := io.Pipe()
	read, out := io.Pipe()
	p := &play{in: write, out: bufio.NewScanner(read), ended: make(chan error, 1), zk: goclient.NewLocal(fakezk.Config{})}
	open := func(_ context.Context, a worker.Assignment, tell func(worker.State)) (*worker.Host, error) {
		w, err := workload.Find(a.Kind, "ours")
		if err != nil {
			return nil, err
		}
		p.tell = tell
		p.conn, _, _ = p.zk.Connect(time.Duration(a.TimeoutMS) * time.Millisecond)
		for _, dir := range []string{"/zktorture", "/zktorture/r0"} { // as the runner does
			if _, err := p.conn.Create(dir, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
				return nil, err
			}
		}
		return worker.HostOf(w, p.conn, func() {})
	}
	go func() {
		err := worker.Serve(t.Context(), in, out, open)
		out.Close()
		p.ended <- err
	}()
	return p
}

// strike lets happen to the session what the worker is going to say of it.
func (p *play) strike(line string) {
	var r struct{ State worker.State }
	json.Unmarshal([]byte(line), &r)
	switch r.State {
	case worker.Suspended:
		p.zk.Disconnect(p.conn)
	case worker.Lost:
		p.zk.Expire(p.conn)
	case worker.Connected:
		p.zk.Reconnect(p.conn)
	default:
		return
	}
	go p.tell(r.State)
}

// playScript is a worker that says its part of the transcript, and hears of the runner what is there, and
// nothing else. It notes on its standard error what it heard.
func playScript(string) error {
	all, err := transcript()
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for _, line := range all {
		if !line.byRunner {
			fmt.Println(line.text)
			continue
		}
		if !in.Scan() || in.Text() != line.text {
			return fmt.Errorf("the runner says\n%s\nthe document says\n%s", in.Text(), line.text)
		}
		fmt.Fprintln(os.Stderr, in.Text())
	}
	if in.Scan() {
		return fmt.Errorf("the runner says more: %s", in.Text())
	}
	return nil
}

// A runner says, word for word, what the document says, and understands the answers.
func TestRunnerSaysTheTranscript(t *testing.T) {
	heard := &lines{}
	c, told := start(t, worker.Config{
		Command: inRole("script", ""), Kind: "lock", Servers: "127.0.0.1:2181,127.0.0.1:2182",
		SessionTimeout: 2 * time.Second, Stderr: heard,
	})
	if !c.Can("try") || !c.Can("owner") || c.Can("take") || c.SessionID() == 0 {
		t.Errorf("session %x, or it can do something else than it says", c.SessionID())
	}
	session := c.SessionID()
	call := func(ctx context.Context, user int, op string) (worker.Answer, error) {
		return c.Do(ctx, worker.Call{User: user, Path: "/zktorture/r0/lock", Op: op})
	}
	got, err := call(t.Context(), 0, "acquire")
	if err != nil || !got.Result.IsInt() || got.Session != session || got.Incarnation != 1 {
		t.Fatalf("%+v %v\n%s", got, err, heard)
	}
	answer, err := call(t.Context(), 1, "try")
	wantResult(t, answer, err, linearizability.Bool(false))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		testkit.Until(t, "the operation is asked for", func() bool { return strings.Contains(heard.String(), `{"id":5,`) })
	}()
	_, err = call(ctx, 1, "acquire")
	wantError(t, err, "context canceled")
	answer, err = call(t.Context(), 0, "owner")
	wantResult(t, answer, err, linearizability.Bool(true))
	testkit.Until(t, "the session is lost and replaced", func() bool { return c.ExpiriesSeen() == 1 && c.Connected() })
	if c.Broken() != 1 || c.SessionID() == session || told.told() != nil {
		t.Errorf("broken %d, session %x, %v", c.Broken(), c.SessionID(), c.Err())
	}
	_, err = call(t.Context(), 0, "release")
	wantError(t, err, "lost before it was released")
	c.Close()
	if strings.Contains(heard.String(), "the runner says") {
		t.Error(heard)
	}
}

// What is written in the document for those who write a worker is what a runner says and reads: every line of
// the transcript is an object, and every operation of the table is one that some recipe of ours has.
func TestTableOfOperations(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.*?) \\|").FindAllSubmatch(text, -1) {
		if !slices.Contains(worker.Kinds(), string(m[1])) {
			continue // another table
		}
		for _, op := range regexp.MustCompile("`(\\w+)`").FindAllSubmatch(m[2], -1) {
			documented[string(m[1])+" "+string(op[1])] = true
		}
	}
	conn, _, _ := goclient.NewLocal(fakezk.Config{}).Connect(time.Second)
	for _, kind := range worker.Kinds() {
		w, err := workload.Find(kind, "ours")
		if err != nil {
			t.Fatal(err)
		}
		host, err := worker.HostOf(w, conn, func() {})
		if err != nil {
			t.Fatal(err)
		}
		served, err := host.Object("/x")
		if err != nil {
			t.Fatal(err)
		}
		for op := range served {
			if !documented[kind+" "+op] {
				t.Errorf("%s: %s %s is not in the table", filepath.Base(document), kind, op)
			}
			delete(documented, kind+" "+op)
		}
	}
	for op := range documented {
		t.Errorf("%s: nobody has %s", filepath.Base(document), op)
	}
}
