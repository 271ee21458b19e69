package bubble

import (
	"fmt"
	"net/url"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/zktorture/zktorture/fakezk/goclient"
)

// Place is a line of code of a recipe.
type Place struct {
	File     string // from the root of the main module, or of this project's; of other modules by its import path
	Line     int
	Function string // without its package: (*Lock).Lock
	Path     string // of the file, as the compiler was given it: absolute, but for programs built with -trimpath
}

// String prints the place as compilers do.
func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// placesMax bounds the places of a stack, and framesMax the frames in which they are sought.
const (
	placesMax = 12
	framesMax = 48
	wiredMax  = 1000 // requests over the wire whose goroutines are sought: a livelock repeats what is known
)

// Places notes where in the code of the recipe requests were sent, and operations called by it. Only a replay has them:
// looking takes longer than a step.
type Places struct {
	of   map[any][]Place
	from map[*goclient.Call]string // over the wire: the goroutine that waits for the answer
	dead map[string]bool           // goroutines of crashed processes, which wait for ever
}

func NewPlaces() *Places {
	return &Places{of: map[any][]Place{}, from: map[*goclient.Call]string{}, dead: map[string]bool{}}
}

// Note is called on the goroutine that sends a request, or calls an operation.
func (p *Places) Note(call any) {
	if p == nil {
		return
	}
	pc := make([]uintptr, framesMax)
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc)])
	var stack []Place
	for {
		frame, more := frames.Next()
		if stack = appendPlace(stack, frame.Function, frame.File, frame.Line); !more {
			break
		}
	}
	p.of[call] = stack
}

// Of returns where a request was sent or an operation called, innermost first; nil if that is not known.
func (p *Places) Of(call any) []Place {
	if p == nil {
		return nil
	}
	return p.of[call]
}

// NoteWire seeks the goroutine that has sent a request through go-zookeeper, whose own goroutine writes the frame. It
// is one that waits for an answer to such a request, and for none of the pending ones. If several may be meant it does not guess.
func (p *Places) NoteWire(call *goclient.Call, pending []*goclient.Call) {
	if p == nil || len(p.of) >= wiredMax {
		return
	}
	var found []string
	var stacks [][]Place
	method := "zk.(*conn)." + strings.NewReplacer("data", "", "getchildren2", "children", "getchildren", "children").Replace(strings.ToLower(call.Request.Op.String()))
	for id, stack := range Goroutines(StackBytesMax) {
		waits := slices.ContainsFunc(pending, func(other *goclient.Call) bool { return p.from[other] == id })
		if stack.Asks() && strings.Contains(strings.ToLower(string(stack)), method) && !waits && !p.dead[id] {
			found, stacks = append(found, id), append(stacks, stack.places())
		}
	}
	if len(found) == 1 {
		p.from[call], p.of[call] = found[0], stacks[0]
	}
}

// Bury notes that the goroutines which wait for these requests are a dead process's.
func (p *Places) Bury(pending []*goclient.Call) {
	if p == nil {
		return
	}
	for _, call := range pending {
		p.dead[p.from[call]] = true
	}
}

// places are those of a stack in the recipe, innermost first.
func (s Stack) places() (places []Place) {
	for _, f := range s.frames() {
		if !f.creator {
			places = appendPlace(places, f.function, f.file, f.line)
		}
	}
	return places
}

// appendPlace appends a frame of a stack if it is the recipe's.
func appendPlace(stack []Place, function, file string, line int) []Place {
	pkg, _ := packageAndName(function)
	if len(stack) == placesMax || whose(function) != ofRecipe || pkg == thisModule+"recipes" && slices.Contains(passing, baseOf(file)) {
		return stack
	}
	return append(stack, framePlace(function, file, line))
}

// framePlace is the place of a frame.
func framePlace(function, file string, line int) Place {
	pkg, name := packageAndName(function)
	if strings.HasSuffix(file, "_test.go") {
		pkg = strings.TrimSuffix(pkg, "_test")
	}
	return Place{strings.TrimPrefix(path.Join(pkg, baseOf(file)), root()), line, name, file}
}

func baseOf(file string) string { return path.Base(strings.ReplaceAll(file, `\`, "/")) }

// packageAndName splits the name of a function, and names the package of a program by its path.
func packageAndName(function string) (pkg, name string) {
	if pkg, name = splitFunction(function); pkg == "main" && program().Path != "" {
		pkg = program().Path
	}
	return pkg, name
}

// root is what the paths of the main module begin with. Programs of this project's modules have one root, so that they
// tell equal stories.
func root() string {
	main := program().Main.Path + "/"
	if strings.HasPrefix(main, thisModule) {
		return thisModule
	}
	return main
}

// SourceModule is the path of the module whose root [Place.File] is relative to; "" if this program does not know it.
func SourceModule() string { return strings.TrimSuffix(root(), "/") }

// program is what this program is made of.
var program = sync.OnceValue(func() debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return *info
	}
	return debug.BuildInfo{}
})

// splitFunction splits the name of a function, as the runtime has it, after its package.
func splitFunction(function string) (pkg, name string) {
	slash := strings.LastIndexByte(function, '/') + 1
	pkg, name, _ = strings.Cut(function[slash:], ".")
	pkg = function[:slash] + pkg
	if plain, err := url.PathUnescape(pkg); err == nil { // dots in the last element are escaped
		pkg = plain
	}
	return pkg, name
}

const thisModule = "github.com/zktorture/zktorture/"

// harness are the packages of this module, by the begin of their paths, that recipes are called by or call.
var harness = []string{"sim", "fakezk", "workload", "live", "internal"}

// passing are the files of package recipes in which a recipe's requests are only passed on.
var passing = []string{"around.go", "retryconn.go"}

// codeOf is whose code a function is.
type codeOf uint8

const (
	ofGo      codeOf = iota // or of a module that no recipe is in
	ofHarness               // this project's
	ofLibrary               // go-zookeeper's, or a fork's of it
	ofRecipe
)

// whose says whose code a function is. What go-zookeeper has of recipes is a recipe.
func whose(function string) codeOf {
	pkg, name := packageAndName(function)
	if rest, ours := strings.CutPrefix(pkg, thisModule); ours {
		if slices.ContainsFunc(harness, func(h string) bool { return rest == h || strings.HasPrefix(rest, h+"/") }) {
			return ofHarness
		}
		return ofRecipe
	}
	first, _, _ := strings.Cut(pkg, "/")
	main := program().Main.Path
	switch {
	case strings.HasSuffix(pkg, "go-zookeeper/zk") && !strings.HasPrefix(name, "(*Lock)"):
		return ofLibrary
	case pkg == main || strings.HasPrefix(pkg, main+"/") || strings.Contains(first, "."):
		return ofRecipe
	}
	return ofGo
}
