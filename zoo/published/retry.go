package published

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// retry repeats what changes nothing, or changes the same again, until ZooKeeper answers.
func retry(ctx context.Context, request func() error) error {
	_, err := retryNoting(ctx, request)
	return err
}

// once is what stands in its place where a recipe asks only once.
func once(_ context.Context, request func() error) error { return request() }

// retryNoting is retry for what may meet itself when it is repeated: lost is the error of the last try of unknown
// outcome, nil if there was none.
func retryNoting(ctx context.Context, request func() error) (lost, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return lost, err
		}
		err := request()
		if !connectionLoss(err) {
			return lost, err
		}
		lost = err
		if err := pause(ctx); err != nil {
			return lost, err
		}
	}
}

// retryPause is the time between two tries.
const retryPause = 100 * time.Millisecond

func pause(ctx context.Context) error { return pauseFor(ctx, retryPause) }

func pauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitAny waits for the first event of one or two watches. If ctx has ended already, or several events are there,
// the first of these in that order counts: a select draws lots, and then runs cannot be repeated.
func awaitAny(ctx context.Context, watches ...<-chan zk.Event) (event zk.Event, err error) {
	if err := ctx.Err(); err != nil {
		return zk.Event{}, err
	}
	for _, watch := range watches {
		select {
		case event = <-watch:
			return event, nil
		default:
		}
	}
	watches = append(watches, nil)
	select {
	case event = <-watches[0]:
	case event = <-watches[1]:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return event, err
}

// catchUp has the server that answers see what all others have seen.
func catchUp(ctx context.Context, client recipes.Conn, path string) error {
	return retry(ctx, func() error { _, err := client.Sync(path); return err })
}

// catchUpByWrite is catchUp by a transaction that changes nothing, which needs a leader that is still one.
func catchUpByWrite(ctx context.Context, client recipes.Conn, path string) error {
	err := retry(ctx, func() error {
		_, err := client.Multi(&zk.CheckVersionRequest{Path: path, Version: -1})
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// statOf asks for a znode, nil if it is not there.
func statOf(ctx context.Context, client recipes.Conn, path string) (stat *zk.Stat, err error) {
	exists := false
	err = retry(ctx, func() (err error) { exists, stat, err = client.Exists(path); return err })
	if !exists || err != nil {
		return nil, err
	}
	return stat, nil
}

// surePath is ensurePath until ZooKeeper answers.
func surePath(ctx context.Context, client recipes.Conn, path string) error {
	return retry(ctx, func() error { return ensurePath(client, path) })
}

// ensurePath makes a znode and those above it.
func ensurePath(client recipes.Conn, path string) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		exists, _, err := client.Exists(path[:i])
		if err == nil && !exists {
			_, err = client.Create(path[:i], nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		}
		switch {
		case errors.Is(err, zk.ErrNoNode): // one above it has just been removed
			i = 0
		case err != nil && !errors.Is(err, zk.ErrNodeExists):
			return err
		}
	}
	return nil
}

// deleteBoth deletes two znodes or none.
func deleteBoth(client recipes.Conn, a, b string) error {
	_, err := client.Multi(&zk.DeleteRequest{Path: a, Version: -1}, &zk.DeleteRequest{Path: b, Version: -1})
	return err
}

// createUnder creates a znode without data, and the directory if that is missing.
func createUnder(client recipes.Conn, dir, name string, flags int32) (path string, err error) {
	for {
		path, err = client.Create(dir+"/"+name, nil, flags, zk.WorldACL(zk.PermAll))
		if !errors.Is(err, zk.ErrNoNode) {
			return path, err
		}
		if err := ensurePath(client, dir); err != nil {
			return "", err
		}
	}
}
