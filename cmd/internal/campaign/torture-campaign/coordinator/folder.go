package coordinator

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
	"github.com/zktorture/zktorture/sim/tally"
)

// Folder is where a campaign is kept. It has no absolute path in it, so that it can be moved while nobody uses it:
//
//	plan.json    the recorded plan
//	token        that workers need, for its owner alone
//	tls/         certificate and key, if it listens beyond this machine
//	programs/    those that were built for the plan
//	lock         held by the coordinator that is at work
//	address      where the server listened last, and the fingerprint of its certificate
//	books/       what is counted: books.json, and the files that it names by their digests
//	jetstream/   the server's files
//	crashes/     episodes in which a unit's process ended, for torture replay
//	report/      in the end
type Folder string

func (f Folder) path(parts ...string) string {
	return filepath.Join(append([]string{string(f)}, parts...)...)
}

// The names of files.
const (
	planFile    = "plan.json"
	tokenFile   = "token"
	addressFile = "address"
	booksFile   = "books.json"
)

// PlanFile is the file of the recorded plan.
func (f Folder) PlanFile() string { return f.path(planFile) }

// TokenFile is the file of the token.
func (f Folder) TokenFile() string { return f.path(tokenFile) }

// Plan reads the recorded plan; [fs.ErrNotExist]: there is none.
func (f Folder) Plan() (*campaign.Plan, error) {
	return campaign.ReadPlan(context.Background(), f.PlanFile())
}

// SetPlan records the plan.
func (f Folder) SetPlan(p *campaign.Plan) error {
	text, err := json.MarshalIndent(p, "", "\t")
	if err != nil {
		return err
	}
	return writeSynced(f.PlanFile(), append(text, '\n'), 0o644)
}

// keepCrash keeps the episode in which the process of a unit ended, and returns the file's place in the folder.
func (f Folder) keepCrash(unit int, crash string) (string, error) {
	name := filepath.Join("crashes", fmt.Sprintf("unit-%d.json", unit))
	if err := os.MkdirAll(f.path("crashes"), 0o755); err != nil {
		return name, err
	}
	return name, writeSynced(f.path(name), []byte(crash), 0o644)
}

// Programs is where programs are that were built for the plan.
func (f Folder) Programs() string { return f.path("programs") }

// InUse reports whether a coordinator is at work in the folder.
func (f Folder) InUse() bool {
	unlock, err := f.Lock()
	if err == nil {
		unlock()
	}
	return errors.Is(err, errLocked)
}

// Access is how to reach the server of the coordinator that is at work in the folder.
func (f Folder) Access() (engine.Access, error) {
	text, err := os.ReadFile(f.path(addressFile))
	if err != nil {
		return engine.Access{}, fmt.Errorf("%s has no address of a server: give the URL of the server in its place", f)
	}
	words := append(strings.Fields(string(text)), "", "")
	return engine.Access{URL: words[0], TokenFile: f.TokenFile(), Fingerprint: words[1]}, nil
}

// Status is how far the campaign in the folder is, by its books.
func (f Folder) Status() (status.Status, error) {
	plan, err := f.Plan()
	if err != nil {
		return status.Status{}, err
	}
	b, err := newKeeper(f, plan).read()
	for range readAgain {
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		b, err = newKeeper(f, plan).read()
	}
	if err != nil {
		return status.Status{}, err
	}
	return b.status(time.Now()), nil
}

// readAgain is how often books are read again of which a coordinator has removed a file meanwhile.
const readAgain = 10

// token returns the campaign's token. It makes one if there is none.
func (f Folder) token() (string, error) {
	text, err := os.ReadFile(f.TokenFile())
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(rand.Text())
		err = writeSynced(f.TokenFile(), append(text, '\n'), 0o600)
	}
	return strings.TrimSpace(string(text)), err
}

// kept is the file of the books: all that is small, and the names of the files of the rest.
type kept struct {
	Sum campaign.Sum `json:"sum"` // without the parts
	noted
	Parts   []string `json:"parts"`   // of each job
	Reports []string `json:"reports"` // of each job; "": it is not concluded
}

// keeper writes books to the disk, what has changed since it wrote last.
type keeper struct {
	dir     string
	plan    *campaign.Plan
	parts   []string // the names of the files of the parts
	reports []string
}

func newKeeper(f Folder, plan *campaign.Plan) *keeper {
	jobs, _ := plan.List() // it was read before
	return &keeper{dir: f.path("books"), plan: plan, parts: make([]string, len(jobs)), reports: make([]string, len(jobs))}
}

// read reads the books; those of no unit if there are none.
func (k *keeper) read() (*books, error) {
	b, err := newBooks(k.plan)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(k.dir, booksFile))
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return nil, err
	}
	stored := kept{noted: b.noted}
	if err := json.Unmarshal(text, &stored); err != nil {
		return nil, fmt.Errorf("%s: %w", booksFile, err)
	}
	stored.Sum.Parts = make([]tally.Part, len(b.jobs))
	if len(stored.Parts) != len(b.jobs) || len(stored.Reports) != len(b.jobs) {
		return nil, fmt.Errorf("%s: it has %d jobs, and the plan has %d", booksFile, len(stored.Parts), len(b.jobs))
	}
	for i := range b.jobs {
		if err := k.load(stored.Parts[i], &stored.Sum.Parts[i]); err != nil {
			return nil, err
		}
		if err := k.load(stored.Reports[i], &b.noted.Reports[i]); err != nil {
			return nil, err
		}
	}
	stored.noted.Reports, stored.noted.Previews = b.noted.Reports, b.noted.Previews
	b.noted = stored.noted
	text, err = json.Marshal(&stored.Sum)
	if err != nil {
		return nil, err
	}
	if b.sum, err = k.plan.ReadSum(text); err != nil {
		return nil, fmt.Errorf("%s: %w", booksFile, err)
	}
	k.parts, k.reports = stored.Parts, stored.Reports
	b.resume()
	return b, nil
}

func (k *keeper) load(name string, value any) error {
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(k.dir, name))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, value)
}

// write writes the books. They are on the disk, or as they were before: books.json is the last file that is written,
// and what it does not name counts for nothing.
func (k *keeper) write(b *books) error {
	if err := os.MkdirAll(k.dir, 0o755); err != nil {
		return err
	}
	for i, p := range b.sum.Parts {
		if !b.changed[i] && k.parts[i] != "" {
			continue
		}
		name, err := k.store(p)
		if err != nil {
			return err
		}
		k.parts[i] = name
		delete(b.changed, i)
	}
	for i, r := range b.noted.Reports {
		if r == nil || k.reports[i] != "" {
			continue
		}
		name, err := k.store(r)
		if err != nil {
			return err
		}
		k.reports[i] = name
	}
	stored := kept{Sum: *b.sum, noted: b.noted, Parts: k.parts, Reports: k.reports}
	stored.Sum.Parts = nil
	text, err := json.Marshal(&stored)
	if err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(k.dir, booksFile), text, 0o644); err != nil {
		return err
	}
	return k.sweep()
}

// store writes a value into a file that is named by its digest.
func (k *keeper) store(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%x.json", sha256.Sum256(text))
	return name, writeSynced(filepath.Join(k.dir, name), text, 0o644)
}

// sweep removes files that the books do not name.
func (k *keeper) sweep() error {
	named := map[string]bool{booksFile: true}
	for i := range k.parts {
		named[k.parts[i]], named[k.reports[i]] = true, true
	}
	files, err := os.ReadDir(k.dir)
	for _, f := range files {
		if !named[f.Name()] {
			err = cmp.Or(err, os.Remove(filepath.Join(k.dir, f.Name())))
		}
	}
	return err
}

// writeSynced replaces a file, atomically, and returns when the new content is on the disk.
func writeSynced(name string, data []byte, mode fs.FileMode) error {
	next := name + ".new"
	file, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	err = cmp.Or(err, file.Sync())
	if err = cmp.Or(err, file.Close()); err != nil {
		os.Remove(next)
		return err
	}
	if err := os.Rename(next, name); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// syncDir makes names of files last. Not every system can sync a folder.
func syncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer dir.Close()
	_ = dir.Sync()
	return nil
}
