package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// page is a Markdown file under way.
type page struct{ text bytes.Buffer }

// newPage begins a page with the command that makes it and where it was run.
func newPage(name string) *page {
	p := &page{}
	p.line("<!-- Made by `go run ./results/generate %s`. Do not edit. -->", name)
	p.line("")
	p.measured(name)
	return p
}

// measured says by what command something was measured, when and where.
func (p *page) measured(name string) {
	p.line("Measured on %s by `go run ./results/generate %s`: %s on %s/%s, %d CPUs%s.",
		time.Now().UTC().Format(time.DateOnly), name, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), cpuModel())
	p.line("")
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

// row adds a row of a table.
func (p *page) row(cells ...any) {
	for _, c := range cells {
		fmt.Fprintf(&p.text, "| %v ", c)
	}
	p.text.WriteString("|\n")
}

// table begins a table.
func (p *page) table(heads ...any) {
	p.row(heads...)
	p.text.WriteString(strings.Repeat("|---", len(heads)) + "|\n")
}

func (p *page) bytes() []byte { return p.text.Bytes() }

// cpuModel names the processor where the system tells it, else nothing.
func cpuModel() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return " (" + strings.TrimSpace(value) + ")"
		}
	}
	return ""
}

// peakMemory is the largest resident memory of this process so far, in MB, where the system tells
// it.
func peakMemory() (mb int, ok bool) {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kb, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return kb / 1024, err == nil
		}
	}
	return 0, false
}

// number prints a count with its thousands apart.
func number[T int | int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
