package console

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/zktorture/zktorture/internal/escape"
)

// folder makes a folder in which the test runs, and of which the shell says that the user is in user.
func folder(t *testing.T, work, user string) (root string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{work, user} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(root, work))
	t.Setenv("PWD", filepath.Join(root, user))
	return root
}

func TestSelfOfInstalled(t *testing.T) {
	for program, want := range map[string]string{
		"torture": "torture", "./torture": "./torture", "../b in/torture": "'../b in/torture'", "bin/torture": "./bin/torture",
	} {
		folder(t, "w", "w")
		if got, _ := selfOf(program, ""); got != want {
			t.Errorf("selfOf(%q) = %s, want %s", program, got, want)
		}
	}
	root := folder(t, "user/w", "user")
	for program, want := range map[string]string{
		"torture": "torture", "./torture": "./w/torture", "../torture": "./torture", "../../torture": escape.Shell(filepath.Join(root, "torture")),
	} {
		if got, _ := selfOf(program, ""); got != want {
			t.Errorf("elsewhere selfOf(%q) = %s, want %s", program, got, want)
		}
	}
}

func TestSelfOfGoRun(t *testing.T) {
	for program, want := range map[string]bool{
		"/a/go-build1/b001/exe/torture": true, `C:/x/go-build9/b001/exe/tor.exe`: true, "/usr/bin/torture": false,
		"/cache/ab/abf104ea4ca7e501d12d62cdfdf7040022f8dbd31fae7b21a2596e66e18cef5e-d/torture": true,
	} {
		if byGoRun(program) != want {
			t.Errorf("byGoRun(%q) = %v", program, !want)
		}
	}
	root := folder(t, "my module/cmd", "my module")
	work := filepath.Join(root, "my module")
	local := debug.BuildInfo{Path: "example.com/mine/cmd", Main: debug.Module{Path: "example.com/mine", Version: "(devel)"}}
	fetched := debug.BuildInfo{Path: "example.com/z/cmd", Main: debug.Module{Path: "example.com/z", Version: "v1.2.3"}}
	files := debug.BuildInfo{Path: "command-line-arguments"}
	check := func(info debug.BuildInfo, mainFile, work, user, want string) {
		t.Helper()
		if got := goRun(&info, mainFile, work, user); got != want {
			t.Errorf("go run of %s in %s by a user in %s is %s, want %s", info.Path, work, user, got, want)
		}
	}
	check(local, work+"/cmd/main.go", work, work, "go run example.com/mine/cmd")
	check(local, work+"/cmd/main.go", work, root, "go run -C 'my module' example.com/mine/cmd")
	check(files, work+"/cmd/main.go", work, work, "go run ./cmd")
	check(files, work+"/main.go", work, work, "go run .")
	check(fetched, "/mod/example.com/z@v1.2.3/cmd/main.go", work, work, "go run example.com/z/cmd@v1.2.3")
	if err := os.WriteFile(filepath.Join(work, "go.mod"), []byte("module m\nrequire example.com/z v1.2.3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	check(fetched, "/mod/example.com/z@v1.2.3/cmd/main.go", filepath.Join(work, "cmd"), filepath.Join(work, "cmd"),
		"go run example.com/z/cmd")
}

// A file is named as the user's next command finds it.
func TestFileOfCommand(t *testing.T) {
	root := folder(t, "here/b elow", "here")
	s := Streams{Base: filepath.Join(root, "here")}
	for name, want := range map[string]string{
		"x.json": "'b elow/x.json'", "../x.json": "x.json", "../../x.json": escape.Shell(filepath.Join(root, "x.json")), "../-x": "./-x", "-": "-",
	} {
		if got := s.File(name); got != want {
			t.Errorf("file(%q) = %s, want %s", name, got, want)
		}
	}
	if got := (Streams{}).File("../x y.json"); got != "'../x y.json'" {
		t.Errorf("in the working directory it is %s", got)
	}
}
