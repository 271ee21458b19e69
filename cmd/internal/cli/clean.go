package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/reach"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/zkclient"
	"github.com/zktorture/zktorture/recipes"
)

// CleanCmd removes the leftovers of runs on the user's servers.
type CleanCmd struct {
	Servers           string `required:"" placeholder:"A:2181,…" help:"Addresses of the servers, with /chroot if the runs had one."`
	Root              string `placeholder:"PATH" help:"The root of one run, or a znode with such roots directly below it. Default: the roots of all runs, directly below / or the chroot."`
	Yes               bool   `help:"Delete the roots, instead of only listing them."`
	reach.AccessFlags `embed:""`
}

// cleanSession is a session timeout with which a busy machine does not lose its connection. Nothing waits for its end.
const cleanSession = 20 * time.Second

func (cmd *CleanCmd) Run(c *console.Context) error {
	addresses, chroot, err := zkclient.ParseServers(cmd.Servers)
	if err != nil {
		return err
	}
	way, err := cmd.Read()
	if err != nil {
		return err
	}
	way.Tell = teller(c)
	conn, err := way.Open(c, strings.Join(addresses, ","), cleanSession, nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(c, conn.Close)()
	roots, err := cmd.find(conn, chroot) // partial on error
	if err = errors.Join(cmd.clean(c, conn, roots, err), err); errors.Is(err, zk.ErrConnectionClosed) {
		return fmt.Errorf("%w: the connection was lost on the way, so call torture clean again", err)
	}
	return err
}

func (cmd *CleanCmd) find(conn recipes.Conn, chroot string) ([]live.LeftRoot, error) {
	if cmd.Root == "" {
		return live.FindLeftRoots(conn, path.Join("/", chroot))
	}
	at, err := rootBelow(chroot, cmd.Root)
	if err != nil {
		return nil, err
	}
	root, err := live.ReadLeftRoot(conn, at)
	if err == nil {
		return []live.LeftRoot{root}, nil
	}
	if below, others := live.FindLeftRoots(conn, at); len(below) > 0 {
		return below, others
	}
	return nil, err
}

// clean lists roots, and removes them if allowed; others is the error of finding the rest.
func (cmd *CleanCmd) clean(c *console.Context, conn recipes.Conn, roots []live.LeftRoot, others error) error {
	var all error
	idle := 0
	for _, root := range roots {
		about := fmt.Sprintf("%s: run %s, begun %v ago, %d znodes", root.Path, root.Run,
			time.Since(root.Began).Round(time.Second), root.Nodes())
		switch {
		case len(root.Sessions) > 0:
			fmt.Fprintf(c.Stdout, "%s: not removed, because session 0x%x uses it\n", about, root.Sessions[0])
			continue
		case !cmd.Yes:
			fmt.Fprintln(c.Stdout, about)
		default:
			if err := root.Remove(conn); err != nil {
				all = errors.Join(all, err)
				continue
			}
			fmt.Fprintln(c.Stdout, about+": removed")
		}
		idle++
	}
	if len(roots) == 0 && others == nil {
		fmt.Fprintln(c.Stdout, "no run has left anything here")
	} else if idle > 0 && !cmd.Yes {
		fmt.Fprintln(c.Stdout, "nothing was removed: add --yes to remove what is not in use")
	}
	return all
}

// Remove removes the root of a run that has ended without a last word, when its sessions have ended. It is no error if
// there is none.
func (cmd *CleanCmd) Remove(ctx context.Context) error {
	addresses, chroot, err := zkclient.ParseServers(cmd.Servers)
	if err != nil {
		return err
	}
	way, err := cmd.Read()
	if err != nil {
		return err
	}
	at, err := rootBelow(chroot, cmd.Root)
	if err != nil {
		return err
	}
	conn, err := way.Open(ctx, strings.Join(addresses, ","), cleanSession, nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	for deadline := time.Now().Add(sessionsEnd); ; time.Sleep(sessionsEnd / 100) {
		root, err := live.ReadLeftRoot(conn, at)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return nil
		case err != nil:
			return err
		case len(root.Sessions) == 0 || time.Now().After(deadline):
			return root.Remove(conn)
		}
	}
}

// sessionsEnd is how long sessions are waited for that servers have granted for longer than they were asked.
const sessionsEnd = 30 * time.Second
