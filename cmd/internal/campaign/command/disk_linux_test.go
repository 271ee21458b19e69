package command

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/coordinator"
)

// zeros are endless.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// fill leaves no room on the disk of a folder.
func fill(t *testing.T, dir string) (file string) {
	t.Helper()
	file = filepath.Join(dir, "full")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, zeros{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	return file
}

// When the disk is full the campaign says so and stands still. Once there is room it goes on, and reports what one
// machine reports. Nothing is lost, and nobody starts anything again.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("no disk of a known size can be made: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	plan := planFile(t, `"jobs": [{"kinds": ["lock"], "recipes": ["ours"], "strategies": ["mix", "patterns"]}],
		"episodes": 2000, "unit": 5, "canary": "none"`)
	dir := filepath.Join(disk, "c")
	p := command(t, "start", plan, "--dir", dir, "--workers", "2", "--ack-wait", "2s")
	for round := range 2 {
		until(t, "units are done", func() bool {
			s, err := coordinator.Folder(dir).Status()
			return err == nil && s.Done > 10+40*round
		})
		file := fill(t, disk)
		until(t, "it says that the disk is full", func() bool {
			return strings.Count(p.said.String(), "\nThe disk of ") > round
		})
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		until(t, "it goes on", func() bool { return strings.Count(p.said.String(), "It goes on") > round })
	}
	if code := p.exit(t); code != 0 {
		t.Fatalf("it ends with %d:\n%s", code, p.said.String())
	}
	o := outcome(t, dir)
	t.Logf("%d units, %d of them done twice:\n%s", o.Status.Done, o.Status.Twice, p.said.String())
	if is, want := asJSON(t, o.Report.Jobs), asJSON(t, oneMachines(t, o.Report.Plan)); is != want {
		t.Errorf("the report is not one machine's:\n%s", firstDifference(is, want))
	}
}
