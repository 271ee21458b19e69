package main

import (
	"embed"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
)

//go:embed pages foreign
var texts embed.FS

// pages are the texts of results/, one template each.
var pages = template.Must(template.New("pages").Option("missingkey=error").Funcs(template.FuncMap{
	"number": number,
	"counts": counts,
	"join":   func(words []string) string { return strings.Join(words, ", ") },
	"add":    func(a, b int) int { return a + b },
	"millis": func(d time.Duration) time.Duration { return d.Round(time.Millisecond) },
}).ParseFS(texts, "pages/*.tmpl"))

// facts are the data of a template.
type facts map[string]any

// fill returns the text of a template.
func fill(name string, data any) (string, error) {
	var text strings.Builder
	err := pages.ExecuteTemplate(&text, name+".tmpl", data)
	return text.String(), err
}

// measured says by what command something was measured, when and where.
func measured(name string) string {
	return fmt.Sprintf("Measured on %s by `go run ./results/generate %s`: %s on %s/%s, %d CPUs%s.\n\n",
		time.Now().UTC().Format(time.DateOnly), name,
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), cpuModel())
}

// cpuModel names the processor if the system tells it.
func cpuModel() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return " (" + strings.TrimSpace(value) + ")"
		}
	}
	return ""
}

// peakMemory is the largest resident memory of this process so far, in MB; 0 if the system does not tell it.
func peakMemory() (mb int) {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kb, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return kb / 1024
		}
	}
	return 0
}

// number prints a count with its thousands apart.
func number(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// counts lists counts by name.
func counts(of map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, name+" "+number(of[name]))
	}
	return strings.Join(parts, ", ")
}
