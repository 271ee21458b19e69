package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// aTask is what stands behind "task:" in a comment of a page. It announces the commands of a task of the reader.
var aTask = regexp.MustCompile(`^at most (\d+) commands; ends with status (\d+); prints: (.*?)(?:; needs: (\S+))?$`)

// task runs the commands of a task, as a reader would who has an empty folder, and counts them. What is not on this
// machine, or must not be changed by a test, is stood in for by scripts, see standIns.
func (d *document) task(what, body string) {
	m := aTask.FindStringSubmatch(what)
	if m == nil {
		d.t.Errorf("this is no task: %s", what)
		return
	}
	if most, _ := strconv.Atoi(m[1]); countCommands(body) > most {
		d.t.Errorf("these are %d commands, and may be %d:\n%s", countCommands(body), most, body)
	}
	if missing := d.missing(m[4]); missing != "" {
		d.t.Logf("SKIPPED the task, as this fails: %s\n%s", missing, body)
		return
	}
	status, out := d.shell(strings.ReplaceAll(body, "21810", d.freePort()))
	if strconv.Itoa(status) != m[2] || !regexp.MustCompile("(?m)"+m[3]).MatchString(out) {
		d.t.Errorf("%sends with status %d, want %s, and prints (not %s)\n%s", body, status, m[2], m[3], out)
	}
}

var commandEnd = regexp.MustCompile(`&&|\|\|?|;|\n`)

// countCommands counts the commands of a script. What ends in & is one, too.
func countCommands(script string) (n int) {
	for _, command := range commandEnd.Split(script, -1) {
		if command = strings.TrimSpace(command); command != "" && !strings.HasPrefix(command, "#") {
			n++
		}
	}
	return n
}

// shell runs a script in a new folder, which has the files that the document has shown, but for those of Go. What the
// script leaves running is ended.
func (d *document) shell(script string) (status int, out string) {
	dir, bin := d.t.TempDir(), d.t.TempDir()
	d.copyInto(dir, "*.py")
	d.standIns(bin)
	d.tool("go", "-C", d.root, "mod", "graph") // fetches what go get asks of the modules that this one needs
	cmd := exec.Command("sh", "-c", script+"\nstatus=$?\n[ -z \"$!\" ] || kill $!\nexit $status\n")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "GOFLAGS=-vet=off")
	text, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

func (d *document) copyInto(dir, pattern string) {
	names, _ := filepath.Glob(filepath.Join(d.dir, pattern))
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(d.read(name)), 0o644); err != nil {
			d.t.Fatal(err)
		}
	}
}

// standIns are programs that come first in the path of a task: a go command that takes this module from here instead
// of from the network, pytest from the Python that has it, and GitHub's command line and a browser's.
func (d *document) standIns(bin string) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		d.t.Fatal(err)
	}
	for name, script := range map[string]string{
		"go": `case "$1 $2" in
"mod init") '` + goTool + `' "$@" && exec '` + goTool + `' mod edit \
	-replace github.com/zktorture/zktorture='` + d.root + `' -replace github.com/zktorture/zktorture/zoo='` + d.root + `/zoo' \
	-replace github.com/zktorture/zktorture/sim/prove='` + d.root + `/sim/prove' \
	-replace github.com/zktorture/zktorture/cmd/torture='` + d.root + `/cmd/torture' ;;
"install github.com/zktorture/zktorture/cmd/torture@latest") cd '` + d.root + `' && GOWORK= exec '` + goTool + `' build -o '` + bin + `/' ./cmd/torture ;;
*) exec '` + goTool + `' "$@" ;;
esac`,
		"pytest":   "exec " + python + ` -m pytest -p no:cacheprovider "$@"`,
		"gh":       `[ "$1 $2" = "run download" ] && cp -r '` + filepath.Join(d.dir, "artifact") + `/.' .`,
		"xdg-open": `exec cat "$1"`,
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *document) freePort() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

var (
	expression = regexp.MustCompile(`\$\{\{.*?\}\}`)
	uploaded   = regexp.MustCompile(`(?m)^ +path: \|\n((?: {12}.*\n)+)`)
)

// job runs a step of a workflow, with the tutorial's first lock, which is wrong, as the code of the repository. Then it
// collects what the workflow uploads.
func (d *document) job(step, workflow string) {
	run := regexp.MustCompile(`- name: ` + step + `\n +run: (.*)`).FindStringSubmatch(workflow)
	paths := uploaded.FindStringSubmatch(workflow)
	if run == nil || paths == nil {
		d.t.Errorf("the workflow has no step %q, or uploads nothing", step)
		return
	}
	for _, name := range []string{"lock.go", "lock_test.go"} {
		d.step("1 " + name)
	}
	command := strings.Fields(expression.ReplaceAllString(run[1], "20000"))
	if out := d.tool(command[0], command[1:]...); !strings.Contains(out, "--- FAIL") {
		d.t.Errorf("the lock passes %q:\n%s", command, out)
	}
	for _, pattern := range strings.Fields(paths[1]) {
		d.upload(pattern)
	}
}

// upload copies the folder that a pattern of actions/upload-artifact names, if there is one.
func (d *document) upload(pattern string) {
	folder := filepath.Clean(strings.TrimPrefix(pattern, "**/"))
	if _, err := os.Stat(filepath.Join(d.dir, folder)); err != nil {
		return
	}
	if err := os.CopyFS(filepath.Join(d.dir, "artifact", folder), os.DirFS(filepath.Join(d.dir, folder))); err != nil {
		d.t.Error(err)
	}
}
