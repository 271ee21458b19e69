package scan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
)

const ours = "github.com/zktorture/zktorture"

// module is where the tests are written and the go command runs.
type module struct {
	dir   string
	flags []string // of the go command
	out   bool     // it is made for the tests, and requires the module that is scanned
}

// goCommand runs the go command in the module.
func (m *module) goCommand(c *console.Context, env []string, args ...string) (out []byte, err error) {
	cmd := exec.CommandContext(c, "go", args...)
	cmd.Dir, cmd.Env = m.dir, append(env, "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=", "PWD="+m.dir)
	var said bytes.Buffer
	cmd.Stderr = &said
	if out, err = cmd.Output(); err != nil && !errors.Is(err, c.Err()) {
		err = fmt.Errorf("go %s in %s: %w\n%s", strings.Join(args, " "), m.dir, err, bytes.TrimSpace(said.Bytes()))
	}
	return out, err
}

// own is the user's module. Its go.mod is not touched unless write says so: the go command gets a copy in temp, which
// requires this project.
func own(c *console.Context, dir, temp string, write bool) (*module, error) {
	m := &module{dir: dir, flags: []string{"-mod=mod"}}
	out, err := m.goCommand(c, os.Environ(), "env", "GOMOD")
	if err != nil {
		return nil, err
	}
	mod := strings.TrimSpace(string(out))
	if mod == "" || mod == os.DevNull {
		return nil, fmt.Errorf("%s is in no module: run torture scan where go.mod is, or name MODULE@VERSION and --out", dir)
	}
	if !write {
		sum := strings.TrimSuffix(mod, ".mod") + ".sum"
		for _, name := range []string{mod, sum} {
			text, err := os.ReadFile(name)
			if err != nil && !(name == sum && errors.Is(err, fs.ErrNotExist)) {
				return nil, err
			}
			if err := os.WriteFile(filepath.Join(temp, filepath.Base(name)), text, 0o644); err != nil {
				return nil, err
			}
		}
		mod = filepath.Join(temp, filepath.Base(mod))
		m.flags = append(m.flags, "-modfile="+mod)
	}
	return m, m.require(c, mod)
}

// other is a new module in an empty folder that requires another one.
func other(c *console.Context, dir, version string) (*module, error) {
	m := &module{dir: dir, flags: []string{"-mod=mod"}, out: true}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	mod := filepath.Join(dir, "go.mod")
	if _, err := os.Stat(mod); err == nil {
		return m, nil // as it is
	}
	if err := os.WriteFile(mod, []byte("module scan.invalid\n\ngo 1.26.0\n"), 0o644); err != nil {
		return nil, err
	}
	if err := m.require(c, mod); err != nil {
		return nil, err
	}
	_, err := m.goCommand(c, os.Environ(), "get", version)
	return m, err
}

// require has a go.mod require this project: the version that this program is of, or the checkout that it was built from.
func (m *module) require(c *console.Context, mod string) error {
	version := "v0.0.0"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range append(info.Deps, &info.Main) {
			if dep.Path == ours && dep.Replace == nil && strings.HasPrefix(dep.Version, "v") {
				version = dep.Version
			}
		}
	}
	root := filepath.Join(filepath.Dir(c.MainFile), "..", "..")
	args := []string{"mod", "edit", "-require=" + ours + "@" + version}
	if _, err := os.Stat(filepath.Join(root, "sim", "world")); err == nil && !strings.Contains(root, "@") {
		args = append(args, "-replace="+ours+"="+root)
		if sums, err := os.ReadFile(filepath.Join(root, "go.sum")); err == nil {
			if err := adds(strings.TrimSuffix(mod, ".mod")+".sum", sums); err != nil {
				return err
			}
		}
	}
	_, err := m.goCommand(c, os.Environ(), append(args, mod)...)
	return err
}

// adds appends lines to a file.
func adds(name string, lines []byte) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	return errors.Join(err, f.Close())
}

// listed is a package as go list -find tells it.
type listed struct {
	ImportPath, Name, Dir string
	GoFiles               []string
	imports               []string
}

// widest is how many packages one imports at most that is read because of these alone: what imports more puts a program
// together, and has nothing of its own.
const widest = 60

// load reads the packages of patterns that are near a client library: those that import one or a wrapper, and those of
// the module that import these. One that imports very many is read if it is named.
func (m *module) load(c *console.Context, patterns []string) (all []*packages.Package, err error) {
	var out []byte
	for _, mod := range []string{"-mod=readonly", "-mod=mod"} { // the latter also looks for what is imported elsewhere
		list := slices.Concat([]string{"list", "-e", "-find", "-json=ImportPath,Name,Dir,GoFiles"}, m.flags[1:], []string{mod}, patterns)
		if out, err = m.goCommand(c, os.Environ(), list...); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	var found []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			return nil, err
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ImportsOnly)
			if err != nil {
				continue // the go command says so
			}
			for _, spec := range file.Imports {
				path, _ := strconv.Unquote(spec.Path.Value)
				if (spec.Name == nil || spec.Name.Name != "_") && !slices.Contains(p.imports, path) { // else nothing of it is called
					p.imports = append(p.imports, path)
				}
			}
		}
		found = append(found, p)
	}
	var wanted, wide []string
	for more := true; more; {
		more = false
		for _, p := range found {
			known := slices.Contains(wanted, p.ImportPath) || slices.Contains(wide, p.ImportPath)
			switch {
			case known:
			case slices.ContainsFunc(append(p.imports, p.ImportPath), near.MatchString):
				wanted, more = append(wanted, p.ImportPath), true
			case !slices.ContainsFunc(p.imports, func(path string) bool { return slices.Contains(wanted, path) }):
			case len(p.imports) > widest && !slices.ContainsFunc(patterns, func(named string) bool {
				return named == p.ImportPath || filepath.Join(m.dir, named) == p.Dir
			}):
				wide = append(wide, p.ImportPath)
				fmt.Fprintf(c.Stderr, "%s is not read: it imports %d packages, which takes long: name it to have it read\n", p.ImportPath, len(p.imports))
			default:
				wanted, more = append(wanted, p.ImportPath), true
			}
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	all, err = packages.Load(&packages.Config{Context: c, Dir: m.dir, BuildFlags: m.flags, Env: append(os.Environ(), "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=", "PWD="+m.dir),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedExportFile |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo}, wanted...)
	slices.SortFunc(all, func(a, b *packages.Package) int { return strings.Compare(a.PkgPath, b.PkgPath) })
	return slices.DeleteFunc(all, func(p *packages.Package) bool { return p.Types == nil || len(p.Syntax) == 0 }), err
}
