package exact

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build is how to build with the runtime of exact mode.
type Build struct {
	Overlay string   // the file for -overlay
	Env     []string // for the go command: the toolchain is the local one, the build cache one of its own
	Version string   // of Go
}

// Prepare writes the runtime for the go command in PATH into the user's cache folder. It takes milliseconds; the first
// build with it compiles the standard library, half a minute.
func Prepare(ctx context.Context) (*Build, error) {
	goroot, version, err := installed(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	h := fnv.New32a()
	h.Write([]byte(goroot))
	overlay, err := writeOverlay(goroot, version, filepath.Join(dir, fmt.Sprintf("%s-%08x", version, h.Sum32())))
	if err != nil {
		return nil, err
	}
	env := append(os.Environ(), "GOTOOLCHAIN=local", "GOCACHE="+filepath.Join(dir, "build"))
	return &Build{Overlay: overlay, Env: env, Version: version}, nil
}

// Dir is the folder, in the user's cache, for all that exact mode writes. Removing it costs the time of the next build.
func Dir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("exact mode needs a cache folder: %w", err)
	}
	return filepath.Join(cache, "zktorture", "exact"), nil
}

// installed asks the go command in PATH for its GOROOT and version, whatever go.mod's toolchain line says: an overlay may
// not replace files of a toolchain that the go command has downloaded.
func installed(ctx context.Context) (goroot, version string, err error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return "", "", fmt.Errorf("exact mode builds with the go command, and go env failed: %s", failed.Stderr)
	}
	if err != nil {
		return "", "", fmt.Errorf("exact mode builds with the go command: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 2 {
		return "", "", fmt.Errorf("exact mode does not understand what go env GOROOT GOVERSION printed: %q", out)
	}
	return strings.TrimSpace(lines[0]), strings.TrimSpace(lines[1]), nil
}
