package ensemble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/zktorture/zktorture/internal/proc"
	"github.com/zktorture/zktorture/live/ensemble/quorum"
)

// Ensemble is a ZooKeeper of one, three or five servers on this machine. Its methods may be called from several
// goroutines.
type Ensemble struct {
	options Options
	java    string
	jars    []string // the class path
	folder  *proc.Folder
	claimed []claim // the members' ports
	members []*Member
	holds   []*quorum.Hold // by member: on what it hears from its leader
	heals   atomic.Int64   // calls of HealAll

	stop    sync.Once
	stopErr error
}

// launchesMax bounds how often Start tries again because a port was taken.
const launchesMax = 5

// Start starts an ensemble and returns when all its servers serve, after about a second for one to three of them. The
// context bounds the start, with the download that it may need ([Fetch]), not the life of the ensemble. After an
// error nothing of the ensemble is left.
func Start(ctx context.Context, options Options) (*Ensemble, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := proc.Allowed(); err != nil {
		return nil, fmt.Errorf("ensemble: %w", err)
	}
	java, err := findJava()
	if err != nil {
		return nil, err
	}
	jars, err := Fetch(ctx)
	if err != nil {
		return nil, err
	}
	for launches := 1; ; launches++ {
		e := &Ensemble{options: options, java: java, jars: jars}
		err := e.start(ctx)
		if err == nil {
			return e, nil
		}
		if !errors.Is(err, errPortTaken) || launches == launchesMax {
			return nil, err
		}
		options.Log("again, with other ports: %v", err)
	}
}

func (e *Ensemble) start(ctx context.Context) error {
	err := e.prepare()
	if err == nil {
		err = e.launchAll()
	}
	if err == nil {
		err = e.WaitServing(ctx)
	}
	if err != nil {
		e.Stop() // the first error is the one that matters
	}
	return err
}

// prepare makes all that servers need. If it fails Stop removes what it has made.
func (e *Ensemble) prepare() error {
	var err error
	if e.claimed, err = e.options.freePorts(3 * e.options.Nodes); err != nil {
		return err
	}
	if e.folder, err = proc.NewFolder("", folderPrefix); err != nil {
		return fmt.Errorf("ensemble: cannot make a folder: %w", err)
	}
	for range e.options.Nodes {
		e.holds = append(e.holds, quorum.NewHold())
	}
	for i, c := range slices.Collect(slices.Chunk(e.claimed, 3)) {
		m := newMember(e, i, ports{c[0].port, c[1].port, c[2].port})
		e.members = append(e.members, m)
		if err := m.addPipes(e.options.Nodes); err != nil {
			return err
		}
	}
	return e.configure()
}

// folderPrefix begins the names of ensembles' folders, and of nothing else.
const folderPrefix = "zktorture-servers-"

func (e *Ensemble) configure() error {
	for _, m := range e.members {
		view := make([]string, len(e.members))
		for i, other := range e.members {
			view[i] = other.seenBy(m.index)
		}
		if err := e.options.writeConfig(m.dir, m.index, m.ports, view); err != nil {
			return err
		}
	}
	return nil
}

func (e *Ensemble) launchAll() error {
	for _, m := range e.members {
		if err := m.Launch(); err != nil {
			return err
		}
	}
	return nil
}

// WaitServing returns when every server serves. It fails as [Member.WaitServing] does.
func (e *Ensemble) WaitServing(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.options.StartTimeout)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for _, m := range e.members {
		group.Go(func() error { return m.WaitServing(ctx) })
	}
	return group.Wait()
}

// Servers returns the client addresses of the members, in their order.
func (e *Ensemble) Servers() []string {
	addresses := make([]string, len(e.members))
	for i, m := range e.members {
		addresses[i] = m.address
	}
	return addresses
}

// ConnectString returns the addresses as clients take them: "127.0.0.1:…,127.0.0.1:…".
func (e *Ensemble) ConnectString() string { return strings.Join(e.Servers(), ",") }

// Dir returns the ensemble's folder: s1, s2, … with zoo.cfg, data and server.log in each.
func (e *Ensemble) Dir() string { return e.folder.Path }

// Member returns a member by its number, from 0 to [Options.Nodes]-1.
func (e *Ensemble) Member(i int) *Member { return e.members[i] }

// Leader returns the number of the member that leads, or of the only one. A leader that was paused may believe for
// some ticks that it still leads; of several the one with the highest epoch is returned. It is an error if there is
// none, because of an election or a lost majority.
func (e *Ensemble) Leader(ctx context.Context) (int, error) {
	leader, best := -1, int64(-1)
	var others []error
	for i, m := range e.members {
		status, err := m.Status(ctx)
		switch {
		case err != nil:
			others = append(others, err)
		case status.Mode != "follower" && epoch(status.Zxid) > best:
			leader, best = i, epoch(status.Zxid)
		}
	}
	if leader < 0 {
		return 0, fmt.Errorf("ensemble: no leader at the moment: %w", errors.Join(others...))
	}
	return leader, nil
}

// epoch is the upper half of a zxid: the number of the leader that made the transaction.
func epoch(zxid int64) int64 { return zxid >> 32 }

// WaitLeader returns the number of the leader as soon as there is one, or an error when ctx ends.
func (e *Ensemble) WaitLeader(ctx context.Context) (leader int, err error) {
	err = poll(ctx, func() error {
		leader, err = e.Leader(ctx)
		return err
	})
	return leader, err
}

// Stop kills all servers and removes the files. Calling it again returns the same error.
func (e *Ensemble) Stop() error {
	e.stop.Do(func() { e.stopErr = e.tearDown() })
	return e.stopErr
}

func (e *Ensemble) tearDown() error {
	var failures []error
	for _, m := range e.members {
		failures = append(failures, m.retire())
	}
	for _, c := range e.claimed {
		failures = append(failures, c.Close())
	}
	if e.folder != nil {
		if err := e.folder.Remove(); err != nil {
			failures = append(failures, fmt.Errorf("ensemble: cannot remove the files: %w", err))
		}
	}
	return errors.Join(failures...)
}
