package deploy

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// manifests are the folders that kubectl apply -k takes.
var manifests = []string{"job", "coordinator"}

// What kubectl apply -k would send is valid by Kubernetes's own description of its API, and what is not is refused.
func TestManifestsAreValid(t *testing.T) {
	strictly := strict(t)
	for _, dir := range manifests {
		objects := validate(strictly, rendered(t, dir))
		for _, object := range objects {
			if object.Status != validator.Valid {
				name, _ := object.Resource.Signature()
				t.Errorf("%s: %v: %v", dir, name, object.Err)
			}
		}
		if len(objects) < 4 {
			t.Errorf("%s has only %d objects", dir, len(objects))
		}
	}
}

// The first line of each file of testdata/refused says why it is refused.
func TestBrokenManifestsAreRefused(t *testing.T) {
	strictly := strict(t)
	names, err := filepath.Glob("testdata/refused/*.yaml")
	if err != nil || len(names) < 6 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		why := strings.TrimPrefix(first, "# ")
		objects := validate(strictly, text)
		if len(objects) != 1 || !strings.Contains(fmt.Sprint(objects[0].Err), why) {
			t.Errorf("%s has %d objects, and should have one that is refused as %q: %v", name, len(objects), why, objects[0].Err)
		}
	}
}

func strict(t *testing.T) validator.Validator {
	t.Helper()
	v, err := validator.New([]string{schemas(t)}, validator.Opts{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// validate says of each object of a text of YAML whether it is valid.
func validate(v validator.Validator, text []byte) []validator.Result {
	return v.Validate("", io.NopCloser(bytes.NewReader(text)))
}

// rendered is what kubectl apply -k sends of a folder.
func rendered(t *testing.T, dir string) []byte {
	t.Helper()
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := objects.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
