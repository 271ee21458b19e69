package worker_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/recipes"
)

// Pieces of workers in shell.
const (
	isReady    = `read first; echo '{"zktorture":1,"can":["try"],"session":"0xa"}'; `
	turns      = `read object; echo '{"id":1,"outcome":"ok","session":"0xa"}'; `
	answersAll = `while read line; do id=${line#*:}; case $line in *op*) ` +
		`echo "{\"id\":${id%%,*},\"outcome\":\"ok\",\"session\":\"0xa\"}";; esac; done`
)

// What a worker may not write, and what is said of it.
var badLines = map[string]string{
	`nonsense`: "the line is not JSON",
	`{"id":2,"outcome":"ok","session":"0xa","reslut":7}`:   `unknown field "reslut"`,
	`{"id":2,"outcome":"ok","session":"0xa"} {}`:           "after the object",
	`{"id":2,"outcome":"ok"}`:                              "in which session",
	`{"id":2,"outcome":"ok","session":10}`:                 "must be a text",
	`{"id":2,"outcome":"ok","session":"x"}`:                "must be a number",
	`{"id":2,"outcome":"ok","session":"0x0"}`:              "other than 0",
	`{"id":2,"outcome":"good","session":"0xa"}`:            "must be ok, fail or unknown",
	`{"id":2,"outcome":"fail"}`:                            "there is no error",
	`{"id":2,"outcome":"ok","session":"0xa","result":"x"}`: "x cannot be the result of acquire",
	`{"id":2,"outcome":"ok","session":"0xa","result":1.5}`: "not a whole number",
	`{"id":1,"outcome":"ok","session":"0xa"}`:              "nothing with the id 1 is under way",
	`{"id":9,"outcome":"ok","session":"0xa"}`:              "nothing with the id 9 is under way",
	`{"state":"gone"}`:                                     "connected, suspended, lost",
	`{}`:                                                   "neither an id nor",
	`{"zktorture":1,"session":"0xa"}`:                      "the first line, and no other",
}

// A line that is not in the protocol ends the client, with a sentence that has the line; the operation that
// is under way returns, and so does every later one.
func TestBadLines(t *testing.T) {
	for line, why := range badLines {
		t.Run(why, func(t *testing.T) {
			c, told := start(t, worker.Config{Command: isReady + turns + `read op; echo '` + line +
				`'; cat >/dev/null`})
			within(t, "the operation", func() {
				_, err := do(t.Context(), c, "acquire")
				wantIs(t, err, recipes.ErrUnknownOutcome)
			})
			wantError(t, c.Err(), "not in the protocol", line, why)
			wantError(t, told.told(), why)
			if t.Failed() {
				return
			}
			_, err := do(t.Context(), c, "acquire")
			wantError(t, err, why)
			if told.told() != nil {
				t.Error("Fail was told twice")
			}
		})
	}
}

func TestLongLine(t *testing.T) {
	c, _ := start(t, worker.Config{Command: isReady + turns +
		`read op; head -c 1100000 /dev/zero | tr '\0' x; cat >/dev/null`})
	within(t, "the operation", func() { do(t.Context(), c, "acquire") })
	wantError(t, c.Err(), "more than 1048576 bytes")
}

// A worker that does not get ready is no run; the error says what it said.
func TestNotReady(t *testing.T) {
	for command, words := range map[string][]string{
		`echo no such library >&2; exit 3`: {
			"died before it was ready", "exit status 3", "no such library"},
		`read first; echo '{"zktorture":1,"error":"there is no lock here"}'`:    {"it says: there is no lock here"},
		`read first; echo '{"zktorture":2,"session":"0xa"}'`:                    {"version 2", "version 1"},
		`read first; echo '{"zktorture":1}'`:                                    {"no session"},
		`read first; echo '{"id":1,"outcome":"ok","session":"0xa"}'; cat`:       {"the first line"},
		`read first; echo hello; cat`:                                           {"not in the protocol", "hello"},
		`exec /no/such/worker`:                                                  {"died before it was ready", "/no/such/worker"},
		`read first; case $first in *'"kind":"lock"'*) exit 7;; esac; exit 8`:   {"exit status 7"},
		`read first; case $first in *'"servers":"h:1"'*) exit 7;; esac; exit 8`: {"exit status 7"},
	} {
		within(t, command, func() {
			c, err := worker.Start(t.Context(),
				worker.Config{Command: command, Kind: "lock", Servers: "h:1"})
			wantError(t, err, words...)
			if c != nil {
				t.Errorf("%s: there is a client", command)
			}
		})
	}
}

// What a worker said before it ended is told, although it has ended when that is looked at.
func TestNotReadyLate(t *testing.T) {
	for range 20 {
		err := worker.StartLate(t.Context(), worker.Config{Kind: "lock", Servers: "h:1",
			Command: `echo '{"zktorture":1,"error":"there is no lock here"}'`})
		wantError(t, err, "it says: there is no lock here")
	}
}

// What a worker says that does not get ready in time is told, however long it takes to say that.
func TestNeverReady(t *testing.T) {
	patience := 100 * time.Millisecond
	testkit.Until(t, "it says something before its time is over", func() bool {
		patience *= 2
		_, err := worker.Start(t.Context(), worker.Config{Command: `read first; echo waiting >&2; cat`, Kind: "lock",
			StartTimeout: patience})
		wantError(t, err, "not ready after "+patience.String())
		return strings.Contains(err.Error(), "waiting")
	})
}

// What a process had under way when it died may have happened; what it held is lost; its session has ended to
// the client's knowledge; and another one goes on.
func TestDeath(t *testing.T) {
	// It dies of the third operation that it gets.
	c, told := start(t, worker.Config{Command: isReady + turns +
		`read op; echo '{"id":2,"outcome":"ok","session":"0xa","result":5}'; read op; exit 9`})
	held, err := do(t.Context(), c, "acquire")
	wantResult(t, held, err, linearizability.Int(5))
	if held.Incarnation != 1 || held.Session != 0xa || c.SessionID() != 0xa || !c.Connected() || c.ExpiriesSeen() != 0 {
		t.Errorf("%+v, session %x, connected %v, told %d", held, c.SessionID(), c.Connected(), c.ExpiriesSeen())
	}
	within(t, "the operation", func() {
		_, err = c.Do(t.Context(), worker.Call{Path: "/a", Op: "release", Incarnation: 1})
		wantIs(t, err, recipes.ErrUnknownOutcome)
	})
	if c.SessionID() != 0 || c.Connected() || c.ExpiriesSeen() != 1 {
		t.Errorf("after the death: session %x, connected %v, told %d", c.SessionID(), c.Connected(), c.ExpiriesSeen())
	}
	_, err = c.Do(t.Context(), worker.Call{Path: "/a", Op: "release", Incarnation: 1})
	wantIs(t, err, recipes.ErrLost)
	again, err := do(t.Context(), c, "acquire")
	wantResult(t, again, err, linearizability.Int(5))
	if again.Incarnation != 2 || told.told() != nil || c.Err() != nil {
		t.Errorf("life %d, %v", again.Incarnation, c.Err())
	}
}

// Nothing is started over and over that dies each time before it has answered anything.
func TestDeathsWithoutEnd(t *testing.T) {
	c, told := start(t, worker.Config{Command: isReady + turns + `read op; echo out of memory >&2; exit 9`})
	within(t, "six operations", func() {
		for range 6 {
			_, err := do(t.Context(), c, "acquire")
			wantIs(t, err, recipes.ErrUnknownOutcome)
		}
	})
	wantError(t, told.told(), "6 processes died", "exit status 9", "out of memory")
	_, err := do(t.Context(), c, "acquire")
	wantError(t, err, "6 processes died")
}

// Nor is a worker blamed that answers something in each of its lives, or that dies because it is killed.
func TestDeathsThatAreNotCounted(t *testing.T) {
	said := &lines{}
	c, told := start(t, worker.Config{Stderr: said, Command: isReady + turns +
		`read op; echo '{"id":2,"outcome":"ok","session":"0xa"}'; read op; exit 9`})
	for range 8 {
		if _, err := do(t.Context(), c, "release"); err != nil {
			t.Fatal(err)
		}
		_, err := do(t.Context(), c, "release")
		wantIs(t, err, recipes.ErrUnknownOutcome)
	}
	c, toldToo := start(t, worker.Config{Stderr: said,
		Command: isReady + turns + `read op; echo got it >&2; cat >/dev/null`})
	for life := 1; life <= 8; life++ {
		over := make(chan error, 1)
		go func() {
			_, err := do(t.Context(), c, "acquire")
			over <- err
		}()
		testkit.Until(t, "the worker gets the operation",
			func() bool { return strings.Count(said.String(), "got it") == life })
		if err := c.Kill(); err != nil {
			t.Fatal(err)
		}
		within(t, "the operation", func() { wantIs(t, <-over, recipes.ErrUnknownOutcome) })
	}
	for _, f := range []failures{told, toldToo} {
		if err := f.told(); err != nil {
			t.Error(err)
		}
	}
}

// A child of a worker that has left its group and has its output does not block the client.
func TestRunawayChild(t *testing.T) {
	said := &lines{}
	c, _ := start(t, worker.Config{Stderr: said,
		Command: isReady + `setsid sh -c 'echo $$ >&2; exec sleep 1000' & ` + turns + `read op; exit 9`})
	testkit.Until(t, "the child is there", func() bool { return strings.HasSuffix(said.String(), "\n") })
	pid, err := strconv.Atoi(strings.TrimSpace(said.String()))
	if err != nil {
		t.Fatal(err)
	}
	child, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Kill() })
	within(t, "the operation", func() {
		_, err := do(t.Context(), c, "acquire")
		wantIs(t, err, recipes.ErrUnknownOutcome)
	})
}

// given is the context of an operation that is given up when the worker says that it has got it.
func given(t *testing.T, said *lines) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		testkit.Until(t, "the worker gets the operation", func() bool { return strings.Contains(said.String(), "got it") })
	}()
	return ctx
}

// A worker that can cancel answers a cancelled operation.
func TestCancel(t *testing.T) {
	said := &lines{}
	c, _ := start(t, worker.Config{Stderr: said, Command: isReady + turns +
		`read op; echo got it >&2; read cancel; case $cancel in '{"cancel":2}') ` +
		`echo '{"id":2,"outcome":"fail","error":"given up"}';; esac; cat >/dev/null`})
	within(t, "the operation", func() {
		_, err := do(given(t, said), c, "acquire")
		wantError(t, err, "given up")
	})
	if _, alive := c.Pid(); !alive {
		t.Error("it was killed although it gave up")
	}
}

// A worker that does not cancel is killed, and acquires nothing any more.
func TestNotGivingUp(t *testing.T) {
	said := &lines{}
	c, _ := start(t, worker.Config{Stderr: said, Command: isReady + turns + `read op; echo got it >&2; cat >/dev/null`,
		GiveUp: 50 * time.Millisecond})
	within(t, "the operation", func() {
		_, err := do(given(t, said), c, "acquire")
		wantIs(t, err, recipes.ErrUnknownOutcome)
	})
	if _, alive := c.Pid(); alive {
		t.Error("it lives")
	}
}

// What is given up before it is asked for is not asked for.
func TestGivenUpBefore(t *testing.T) {
	c, _ := start(t, worker.Config{Command: isReady + `read line; exit 9`})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		_, err := do(ctx, c, "acquire")
		wantIs(t, err, context.Canceled)
	}
	if _, alive := c.Pid(); !alive {
		t.Error("it was asked")
	}
}

// A process that begins anew goes on with that when its caller gives up.
func TestGivenUpAtABeginning(t *testing.T) {
	said, file := &lines{}, filepath.Join(t.TempDir(), "go")
	open := func() { os.WriteFile(file, nil, 0o600) }
	open()
	c, _ := start(t, worker.Config{Stderr: said, Command: "echo begins >&2; until [ -e '" + file + "' ]; do sleep 0.01; done; " +
		isReady + answersAll})
	os.Remove(file)
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go do(ctx, c, "acquire")
	testkit.Until(t, "the second begins", func() bool { return strings.Count(said.String(), "begins") == 2 })
	cancel()
	open()
	if answer, err := do(t.Context(), c, "acquire"); err != nil || answer.Incarnation != 2 {
		t.Errorf("life %d, %v", answer.Incarnation, err)
	}
}

// A process that is made to sleep answers when it is woken, and is not killed for not answering before.
func TestPause(t *testing.T) {
	t.Parallel()
	const giveUp = 2 * time.Second // it has to answer in that when it is awake
	c, _ := start(t, worker.Config{Command: isReady + answersAll, GiveUp: giveUp})
	if _, err := do(t.Context(), c, "acquire"); err != nil {
		t.Fatal(err)
	}
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	pid, _ := c.Pid()
	testkit.Until(t, "it sleeps", func() bool { return stateOf(t, pid) == "T" })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answered := make(chan error, 1)
	go func() {
		_, err := do(ctx, c, "release")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("it answers in its sleep: %v", err)
	case <-time.After(100 * time.Millisecond):
		cancel()
	}
	select {
	case err := <-answered:
		t.Fatalf("it answers in its sleep: %v", err)
	case <-time.After(2 * giveUp):
	}
	if err := c.Resume(); err != nil {
		t.Fatal(err)
	}
	within(t, "the operation", func() {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	})
	if again, _ := c.Pid(); again != pid {
		t.Error("it was killed for sleeping")
	}
}

// stateOf returns the state of a process: T if it is stopped, "" if there is none, or only its remains.
func stateOf(t *testing.T, pid int) string {
	t.Helper()
	out, _ := exec.CommandContext(t.Context(), "ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	return strings.Trim(strings.TrimSpace(string(out)), "Z")
}

// Kill kills, and the client goes on with another process. That it was asked for is not held
// against the worker.
func TestKill(t *testing.T) {
	c, told := start(t, worker.Config{Command: isReady + answersAll})
	for life := 1; life <= 8; life++ {
		answer, err := do(t.Context(), c, "release")
		if err != nil || answer.Incarnation != life {
			t.Fatalf("life %d: %+v %v", life, answer, err)
		}
		within(t, "Kill", func() {
			if err := c.Kill(); err != nil {
				t.Error(err)
			}
		})
		if _, alive := c.Pid(); alive || c.SessionID() != 0 {
			t.Error("it lives")
		}
	}
	if err := c.Kill(); err == nil {
		t.Error("there was nobody to kill")
	}
	if err := c.Pause(); err == nil {
		t.Error("there was nobody to stop")
	}
	if told.told() != nil || c.ExpiriesSeen() != 8 {
		t.Errorf("told of %d deaths, %v", c.ExpiriesSeen(), c.Err())
	}
}

// lines collects what is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A command of several processes dies as one.
func TestKillTakesTheGroup(t *testing.T) {
	said := &lines{}
	c, _ := start(t, worker.Config{Command: isReady + `sleep 1000 & echo $! >&2; ` + answersAll, Stderr: said})
	testkit.Until(t, "it says who its child is", func() bool { return strings.HasSuffix(said.String(), "\n") })
	child, err := strconv.Atoi(strings.TrimSpace(said.String()))
	if err != nil || stateOf(t, child) == "" {
		t.Fatalf("child %d, %v", child, err)
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, "the child is dead", func() bool { return stateOf(t, child) == "" })
}

// Close lets a worker end by itself, and ends one that does not, awake or asleep.
func TestClose(t *testing.T) {
	said := &lines{}
	c, _ := start(t, worker.Config{Command: isReady + `cat >/dev/null; echo session closed >&2`, Stderr: said})
	within(t, "Close", c.Close)
	if said.String() != "session closed\n" {
		t.Errorf("it said %q", said)
	}
	_, err := do(t.Context(), c, "acquire")
	wantIs(t, err, recipes.ErrClosed)

	c, told := start(t, worker.Config{Command: isReady + answersAll})
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	pid, _ := c.Pid()
	within(t, "Close", func() { c.Close(); c.Close() })
	if stateOf(t, pid) != "" || told.told() != nil {
		t.Error("it lives, or its end counts as a failure")
	}
}

// What becomes of a session is counted.
func TestStates(t *testing.T) {
	c, _ := start(t, worker.Config{Command: isReady + turns +
		`read op; echo '{"state":"suspended"}'; echo '{"state":"lost","session":null}'; ` +
		`echo '{"state":"connected","session":"0xffffffffffffffff"}'; echo '{"state":"suspended"}'; ` +
		`echo '{"id":2,"outcome":"ok","session":null}'; cat >/dev/null`})
	answer, err := do(t.Context(), c, "acquire")
	wantResult(t, answer, err, linearizability.Null)
	if answer.Session != 0 {
		t.Errorf("session of the answer %x, want 0", answer.Session)
	}
	if c.SessionID() != -1 || c.Connected() || c.ExpiriesSeen() != 1 || c.Broken() != 2 {
		t.Errorf("session %x, connected %v, told %d, broken %d", c.SessionID(), c.Connected(), c.ExpiriesSeen(),
			c.Broken())
	}
}

// A user turns to an object once, and users have objects of their own. Answers may come in any order.
func TestUsersAndOrder(t *testing.T) {
	c, _ := start(t, worker.Config{Command: inRole("fake", "ours")})
	call := func(user int, path, op string) (worker.Answer, error) {
		return c.Do(t.Context(), worker.Call{User: user, Path: path, Op: op})
	}
	if _, err := call(0, "/a", "acquire"); err != nil {
		t.Fatal(err)
	}
	waits := make(chan error)
	go func() {
		_, err := call(1, "/a", "acquire")
		waits <- err
	}()
	if _, err := call(2, "/b", "acquire"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-waits:
		t.Errorf("two users hold /a: %v", err)
	default:
	}
	if _, err := call(0, "/a", "release"); err != nil {
		t.Fatal(err)
	}
	within(t, "the second user", func() {
		if err := <-waits; err != nil {
			t.Error(err)
		}
	})
}

// No worker outlives a runner that was killed, and nothing of its group that is paused does, also under nohup.
func TestWorkersDieWithTheRunner(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux promises it")
	}
	for _, by := range []string{"env", "nohup"} {
		t.Run(by, func(t *testing.T) { dieWithTheRunner(t, by) })
	}
}

func dieWithTheRunner(t *testing.T, by string) {
	child := filepath.Join(t.TempDir(), "child")
	cmd := exec.CommandContext(t.Context(), by, os.Args[0])
	// They do not see that their input ends: a sleep has no eyes.
	cmd.Env = append(os.Environ(), role+"=runner "+
		`read first; sleep 1000 & echo $! >`+child+`; echo '{"zktorture":1,"session":"0xa"}'; exec sleep 1000`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := make([]int, 2)
	if _, err := fmt.Fscan(out, &pids[0]); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(child)
	if err != nil {
		t.Fatal(err)
	}
	if pids[1], err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(-pids[0], syscall.SIGSTOP)
	for _, pid := range pids {
		testkit.Until(t, "it is paused", func() bool { return stateOf(t, pid) == "T" })
	}
	cmd.Process.Kill()
	cmd.Wait()
	for _, pid := range pids {
		testkit.Until(t, "it is dead", func() bool { return stateOf(t, pid) == "" })
	}
}
