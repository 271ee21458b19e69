package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/zktorture/zktorture/fakezk"
)

// The files of [Config.Data].
const (
	lockFile     = "lock"           // held while a server uses the folder
	snapshotFile = "snapshot.jsonl" // what fakezk.Ensemble.Save has written, with checksums
	logFile      = "log.jsonl"      // a line for each transaction since then
)

// logMax is the size of the log, in bytes, at which a new snapshot is made.
const logMax = 64 << 20

// data keeps the tree and the sessions in a folder, so that they outlive the process: what was answered is in the
// files, also after SIGKILL. Files are not synced: they do not outlive the machine's power.
//
// Invariant: snapshot and log together are what the ensemble has. A snapshot is whole or not there; the last line of
// the log may have been cut off, and was not answered then. A record that is damaged is refused.
type data struct {
	dir          string
	lock         io.Closer
	log          *os.File
	size         int64
	snapshotZxid int64
	snapshotAt   time.Time
	pending      bytes.Buffer // transactions that are not written yet
	encoder      *json.Encoder
}

// openData takes a folder up, makes the ensemble what it has, and begins a new log.
func openData(dir string, e *fakezk.Ensemble, now int64) (*data, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := lockFolder(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, err
	}
	d := &data{dir: dir, lock: lock}
	d.encoder = json.NewEncoder(&summing{to: &d.pending})
	if err = d.load(e, now); err == nil {
		err = d.replay(e)
	}
	if err == nil {
		e.RegainQuorum(now)
		err = d.snapshot(e)
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	e.OnTransaction = func(t fakezk.Transaction) { d.encoder.Encode(t) }
	return d, nil
}

func (d *data) path(name string) string { return filepath.Join(d.dir, name) }

// open opens a file; it is nil if there is none, which is no error.
func (d *data) open(name string) (*os.File, error) {
	file, err := os.Open(d.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return file, err
}

// load reads the snapshot, if there is one.
func (d *data) load(e *fakezk.Ensemble, now int64) error {
	file, err := d.open(snapshotFile)
	if file == nil {
		return err
	}
	defer file.Close()
	in := newRecords(file)
	if err := e.Load(now, in); err != nil {
		return fmt.Errorf("%s, line %d: %w", file.Name(), in.number, err)
	}
	return nil
}

// replay reads the log, if there is one. What the snapshot has already is passed over, and so is a last line without
// its end.
func (d *data) replay(e *fakezk.Ensemble) error {
	file, err := d.open(logFile)
	if file == nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, fmt.Errorf("%s is not an ordinary file", file.Name()))
	}
	for in := newRecords(file); ; {
		record, err := in.next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		var t fakezk.Transaction
		if err == nil {
			err = decode(record, &t)
		}
		if err == nil && t.Zxid > e.Zxid() {
			err = e.Replay(t)
		}
		if err != nil {
			return fmt.Errorf("%s, line %d: %w", file.Name(), in.number, err)
		}
	}
}

// snapshot writes what the ensemble has, and begins an empty log. Whenever it is interrupted, what there is is whole:
// the new snapshot takes the place of the old one at once, and the log may say again what it has.
func (d *data) snapshot(e *fakezk.Ensemble) error {
	next := d.path(snapshotFile + ".tmp")
	if err := writeFile(next, e.Save); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	if err := os.Rename(next, d.path(snapshotFile)); err != nil {
		return err
	}
	if d.log != nil {
		d.log.Close()
	}
	d.size, d.snapshotZxid, d.snapshotAt = 0, e.Zxid(), time.Now()
	d.pending.Reset()
	log, err := os.OpenFile(d.path(logFile), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	d.log = log
	return err
}

func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	return errors.Join(write(&summing{to: out}), out.Flush(), file.Close())
}

// flush writes the transactions since the last one.
func (d *data) flush(e *fakezk.Ensemble) error {
	if d == nil || d.pending.Len() == 0 {
		return nil
	}
	n, err := d.log.Write(d.pending.Bytes())
	d.pending.Reset()
	if d.size += int64(n); err != nil || d.size < logMax {
		return err
	}
	return d.snapshot(e)
}

func (d *data) close() error {
	if d == nil {
		return nil
	}
	return errors.Join(d.log.Close(), d.lock.Close())
}
