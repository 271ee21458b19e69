package command

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/internal/testkit"
)

// An interrupt ends a command that waits for input. A pipe without a writer blocks on open, standard input on read.
func TestInterruptedWhileReading(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	defer func(stdin *os.File) { os.Stdin = stdin }(os.Stdin)
	os.Stdin = read
	for _, args := range [][]string{
		{"check", pipe, "--model", "queue"}, {"check", "-", "--model", "queue"},
		{"explain", pipe}, {"explain", pipe, "--model", "queue"},
		{"explain", "-", "--model", "queue"}, {"replay", pipe},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			var out strings.Builder
			status := make(chan int, 1)
			go func() { status <- run(ctx, args, console.Streams{Stdout: &out, Stderr: &out, Self: "torture"}) }()
			got := testkit.From(t, "it ends", status)
			if got != console.ExitUnknown || !strings.Contains(out.String(), "interrupted") {
				t.Errorf("status %d: %s", got, out.String())
			}
		})
	}
}
