// Licences checks that the modules of which something is made have licences that are allowed.
//
//	licences FOLDER...                    all packages and tests of the modules in these folders
//	licences -notices FILE FOLDER...      the programs in these folders; FILE gets their licences' texts
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// ours begins the paths of this project's own modules.
const ours = "github.com/zktorture/zktorture"

// allowed are licences that ask of a program that has a module's unmodified files for no more than their notices and a
// way to their source.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unlicense", "CC0-1.0"}

// knownMin is how much of the text of a licence file has to be that of known licences, in percent.
const knownMin = 75

// systems are those for which programs are released.
var systems = []string{"linux", "darwin", "windows"}

// module is one that something is made of, as go list says it.
type module struct{ Path, Version, Dir string }

func main() {
	notices := flag.String("notices", "", "write the texts of the programs' licences to this `file`")
	flag.Parse()
	if err := run(flag.Args(), *notices); err != nil {
		fmt.Fprintf(os.Stderr, "licences: %v\n", err)
		os.Exit(1)
	}
}

func run(folders []string, notices string) error {
	list := []string{"-deps", "-test", "./..."}
	if notices != "" {
		list = []string{"-deps", "."}
	}
	found := map[string]module{}
	for _, folder := range folders {
		for _, system := range systems {
			if err := add(found, folder, system, list); err != nil {
				return err
			}
		}
	}
	text, err := check(found)
	if err == nil && notices != "" {
		err = os.WriteFile(notices, text, 0o644)
	}
	if err == nil {
		fmt.Printf("licences: %d modules, all with licences that are allowed\n", len(found))
	}
	return err
}

// add adds the modules of packages on a system.
func add(found map[string]module, folder, system string, packages []string) error {
	cmd := exec.Command("go", append([]string{"list", "-json=Module"}, packages...)...)
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	work, err := workspace(folder)
	if err != nil {
		return err
	}
	cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0", "GOWORK="+work)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list in %s: %w", folder, err)
	}
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ Module *module }
		if err := packages.Decode(&p); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if p.Module != nil && !strings.HasPrefix(p.Module.Path+"/", ours+"/") {
			found[p.Module.Path+"@"+p.Module.Version] = *p.Module
		}
	}
}

// workspace is the value of GOWORK with which a folder's module is built: the module that has go.work is built without it.
func workspace(folder string) (string, error) {
	cmd := exec.Command("go", "env", "GOMOD")
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	mod, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD in %s: %w", folder, err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(string(mod)), "go.work")); err == nil {
		return "off", nil
	}
	return "", nil
}

// check returns the texts of all modules' licences.
func check(found map[string]module) (notices []byte, err error) {
	for _, name := range slices.Sorted(maps.Keys(found)) {
		text, wrong := found[name].licence()
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, wrong))
		}
		notices = fmt.Appendf(notices, "%s\n%s\nhttps://pkg.go.dev/%s\n\n%s\n", strings.Repeat("=", 80), name, name, text)
	}
	return notices, err
}

// fileNames are those of licences and notices of code; LICENSE.docs, say, is that of a manual.
var fileNames = regexp.MustCompile(`(?i)^(mit-)?(licen[cs]e|copying|notice)(\.(txt|md|mit|code))?$`)

// licence returns the text of a module's licence files, with its notices.
func (m module) licence() (text []byte, err error) {
	files, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, fmt.Errorf("its files are not here: %w: run go mod download", err)
	}
	licences := 0
	for _, file := range files {
		if !fileNames.MatchString(file.Name()) {
			continue
		}
		part, err := os.ReadFile(filepath.Join(m.Dir, file.Name()))
		if err != nil {
			return nil, err
		}
		text = append(append(text, part...), '\n')
		if strings.HasPrefix(strings.ToLower(file.Name()), "notice") {
			continue
		}
		licences++
		if err := judge(part); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
	}
	if licences == 0 {
		return m.readme()
	}
	return text, nil
}

// inReadme are modules without a file of their licence, and how their README names it.
var inReadme = map[string]string{"github.com/mattn/go-localereader@v0.0.1": "## License\n\nMIT\n"}

// readme returns the README of a module that names its licence there.
func (m module) readme() ([]byte, error) {
	says, known := inReadme[m.Path+"@"+m.Version]
	if !known {
		return nil, errors.New("there is no file LICENSE or COPYING")
	}
	text, err := os.ReadFile(filepath.Join(m.Dir, "README.md"))
	if err == nil && !bytes.Contains(text, []byte(says)) {
		err = fmt.Errorf("its README.md does not say %q", says)
	}
	return text, err
}

// judge returns an error if a text is not that of allowed licences.
func judge(text []byte) error {
	known := licensecheck.Scan(text)
	if known.Percent < knownMin {
		return fmt.Errorf("only %.0f %% of it is the text of a known licence", known.Percent)
	}
	for _, match := range known.Match {
		if !match.IsURL && !slices.Contains(allowed, match.ID) {
			return fmt.Errorf("%s is not among the licences that are allowed: %v", match.ID, allowed)
		}
	}
	return nil
}
