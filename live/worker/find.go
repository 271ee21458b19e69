package worker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// kindNames lists the library's kinds whose recipes may be in other processes.
func kindNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// kindNamed returns a kind; without a name if there is none.
func kindNamed(name string) (found kind) {
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name }); i >= 0 {
		return kinds[i]
	}
	if of, err := workload.KindNamed(name); err == nil && of.Operations != nil && !slices.Contains(of.Operations, opObject) {
		found = kind{name: name, own: of.Operations, all: true}
	}
	return found
}

// Foreign begins the name of a recipe that another program serves; the command that runs the program follows.
const Foreign = "exec:"

// Find is [workload.Find], which knows in addition the recipes that other programs serve ([Foreign]). These are for
// [Remote] clients only.
func Find(kind, recipe string) (*workload.Workload, error) {
	if !strings.HasPrefix(recipe, Foreign) {
		return workload.Find(kind, recipe)
	}
	if strings.TrimSpace(recipe) == Foreign {
		return nil, fmt.Errorf("%q names no command: write %[1]sCOMMAND", Foreign)
	}
	w, err := workload.Find(kind, "")
	if err != nil {
		return nil, err
	}
	if reached, can := kindNamed(kind).reached(w, recipe); can {
		return reached, nil
	}
	return nil, unreached(kind, recipe)
}

// InProcesses is the same workload for [Remote] clients. The error says why their recipe cannot be in other processes.
func InProcesses(w *workload.Workload) (*workload.Workload, error) {
	k := kindNamed(w.Name())
	if k.all || w.Recipe() == workload.Ours || strings.HasPrefix(w.Recipe(), Foreign) {
		if reached, can := k.reached(w, w.Recipe()); can {
			return reached, nil
		}
	}
	return nil, unreached(w.Name(), w.Recipe())
}

func unreached(kind, recipe string) error {
	return fmt.Errorf("%s (%s) cannot be in a process of its own: every lock can, the default recipes of %s, and kinds of your own "+
		"with Operations, none of them named "+opObject, kind, recipe, strings.Join(kindNames(), ", "))
}

// reached is the same workload for remote clients.
func (k kind) reached(w *workload.Workload, recipe string) (*workload.Workload, bool) {
	reached, can := w.With(recipe, k.recipe, k.episode)
	return reached, can && k.name != ""
}

// recipe stands for a user's recipe; the connection is that of a [remoteUser].
func (k kind) recipe(c recipes.Conn, path string) any {
	h := &handle{kind: k, conn: c.(*remoteConn), path: path}
	if k.stand != nil {
		return k.stand(h)
	}
	return h
}

// serve returns what a user can do by a recipe of a kind.
func serve(kind string, recipe any) (Served, error) {
	if k := kindNamed(kind); k.name != "" {
		if served, can := k.serve(recipe); can {
			return served, nil
		}
	}
	return nil, fmt.Errorf("worker: a %s recipe of type %T cannot be served to another process", kind, recipe)
}
