package wholefile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/zktorture/zktorture/internal/wholefile"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	wantFile := func(text string, mode os.FileMode) {
		t.Helper()
		got, err := os.ReadFile(name)
		if err != nil || string(got) != text {
			t.Errorf("the file has %q, error %v, want %q", got, err, text)
		}
		if info, err := os.Lstat(name); err != nil || info.Mode() != mode {
			t.Errorf("the file is %v, error %v, want %v", info.Mode(), err, mode)
		}
	}
	write := func(to, text string) {
		t.Helper()
		if err := wholefile.Write(to, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write(name, "first")
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	write(name, "second")
	wantFile("second", 0o600)
	write(link, "third")
	wantFile("third", 0o600)
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, error %v", info.Mode(), err)
	}
	write(os.DevNull, "nothing")
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s is %v, error %v", os.DevNull, info.Mode(), err)
	}
	if below := filepath.Join(name, "below"); wholefile.Write(below, nil) == nil {
		t.Error("a file below a file was written")
	}
	wantFile("third", 0o600)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("%v are left, error %v", left, err)
	}
}
