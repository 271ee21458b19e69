package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The schemas are those of the first version of Kubernetes in which all fields that the manifests use are stable:
// backoffLimitPerIndex is the newest of them. Stable fields stay, so later versions accept the manifests, too.
const (
	kubernetes    = "k8s.io/kubernetes@v1.33.13"
	kubernetesSum = "h1:bmH31xUdSzeA5vk0wZAK9MZp11mdLuzUSeKk0qN3hPQ="
)

// groups are the files of Kubernetes's OpenAPI description that have the kinds of the manifests.
var groups = []string{"api__v1", "apis__apps__v1", "apis__batch__v1", "apis__networking.k8s.io__v1"}

// schemas makes a folder with a JSON schema for each kind of object, and returns how kubeconform names them.
func schemas(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, group := range groups {
		text, err := os.ReadFile(filepath.Join(source(t), "api", "openapi-spec", "v3", group+"_openapi.json"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, text)
	}
	return dir + "/{{.ResourceKind}}{{.KindSuffix}}.json"
}

// source is the folder of Kubernetes's source, which is fetched once.
func source(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", kubernetes).Output()
	var module struct{ Dir, Sum, Error string }
	if e := json.Unmarshal(out, &module); e != nil || err != nil || module.Sum != kubernetesSum {
		t.Fatalf("go mod download %s: %v, %v, %s; its sum is %q, and should be %q",
			kubernetes, err, e, module.Error, module.Sum, kubernetesSum)
	}
	return module.Dir
}

// object is one of JSON.
type object = map[string]any

// write writes a file for each kind of an OpenAPI description.
func write(t *testing.T, dir string, text []byte) {
	t.Helper()
	var api struct {
		Components struct {
			Schemas map[string]struct {
				Kinds []struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
			}
		}
	}
	var all object
	for _, to := range []any{&api, &all} {
		if err := json.Unmarshal(text, to); err != nil {
			t.Fatal(err)
		}
	}
	components := all["components"].(object)
	for _, schema := range components["schemas"].(object) {
		closed(schema.(object))
	}
	for name, schema := range api.Components.Schemas {
		if len(schema.Kinds) == 1 { // what is of many kinds, such as the options of a deletion, is no kind of its own
			is := schema.Kinds[0]
			group, _, _ := strings.Cut(is.Group, ".")
			file := strings.ToLower(strings.Join(strings.Fields(is.Kind+" "+group+" "+is.Version), "-")) + ".json"
			text, err := json.Marshal(object{"$ref": "#/components/schemas/" + name, "components": components})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// closed has a schema refuse fields that it does not name, as the API does.
func closed(schema object) {
	if schema["properties"] != nil {
		schema["additionalProperties"] = false
	}
}
