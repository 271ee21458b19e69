package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
)

// openAPI is docs/reference/control.openapi.json, as far as the test has to understand it.
type openAPI struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		Parameters []struct {
			Ref      string `json:"$ref"`
			Name, In string
		}
		Responses map[string]apiResponse
	}
	Components struct{ Responses map[string]apiResponse }
}

type apiResponse struct {
	Ref     string `json:"$ref"`
	Content map[string]struct {
		Schema map[string]any
	}
}

const openAPIFile = "reference/control.openapi.json"

// The control port and its OpenAPI file have the same requests, each is answered in every way that the file says and in
// no other, and each answer is as its schema says.
func TestControlIsAsItsOpenAPIFileSays(t *testing.T) {
	text, err := os.ReadFile(openAPIFile)
	if err != nil {
		t.Fatal(err)
	}
	var api openAPI
	if err := json.Unmarshal(text, &api); err != nil || !strings.HasPrefix(api.OpenAPI, "3.1.") {
		t.Fatal(api.OpenAPI, err)
	}
	missing, named := map[string]bool{}, map[string]bool{}
	for path, methods := range api.Paths {
		for method, operation := range methods {
			request := strings.ToUpper(method) + " " + path
			named[request] = true
			for status := range operation.Responses {
				missing[request+" "+status] = true
			}
		}
	}
	s := fakezktest.Start(t, server.Config{Ensemble: fakezk.Config{Replicas: 3}})
	web := httptest.NewServer(s.Control())
	defer web.Close()
	client, _, err := zk.Connect([]string{s.Addr(2)}, 1e10, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Create("/e", []byte("x"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	schemas := apiSchemas(t, text)
	ask := func(request string) []byte {
		t.Helper()
		method, target, _ := strings.Cut(request, " ")
		r, err := http.NewRequest(method, web.URL+target, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		path, _, _ := strings.Cut(target, "?")
		if strings.HasPrefix(path, "/commands/") {
			path = "/commands/{name}"
		}
		status := fmt.Sprint(answer.StatusCode)
		said, there := api.Paths[path][strings.ToLower(method)].Responses[status]
		if !there {
			t.Errorf("%s: %s: the file does not say that: %s", request, answer.Status, body)
			return body
		}
		delete(missing, method+" "+path+" "+status)
		if name, shared := strings.CutPrefix(said.Ref, "#/components/responses/"); shared {
			said = api.Components.Responses[name]
		}
		kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
		content, there := said.Content[kind]
		switch {
		case len(said.Content) == 0 && len(body) == 0:
		case !there:
			t.Errorf("%s: %s with %q: %s", request, answer.Status, kind, body)
		case content.Schema != nil:
			schemas.valid(content.Schema, request, body)
		}
		return body
	}
	id := fmt.Sprintf("0x%x", client.SessionID())
	for request := range strings.FieldsSeq(`
		GET:/sessions GET:/tree GET:/tree?path=/none GET:/commands GET:/commands/ruok GET:/commands/none GET:/commands/monitor?server=9
		POST:/hold?session=ID POST:/cut?session=ID&when=before POST:/stop?server=1 POST:/lag?server=2&on=true
		GET:/faults POST:/resume?server=1 POST:/lag?server=2&on=false POST:/release?session=ID POST:/cut?session=ID&when=now
		POST:/expire?session=ID
		POST:/depose GET:/faults POST:/notice POST:/kill?server=3 POST:/quorum?on=false GET:/faults POST:/restart?server=3
		POST:/quorum?on=true POST:/clock?advance=10s POST:/reset?faults=all&per_minute=2.5&seed=7 GET:/faults
		POST:/reset?faults=loss&every=3 GET:/faults POST:/reset GET:/sessions GET:/faults
		POST:/expire?session=x POST:/hold?session=x POST:/release?session=x POST:/cut?session=x POST:/expire?session=7
		POST:/hold?session=7 POST:/release?session=7 POST:/cut?session=7&when=now POST:/kill POST:/restart POST:/stop POST:/resume
		POST:/lag POST:/depose?server=9 POST:/quorum POST:/clock POST:/reset?faults=none-such`) {
		ask(strings.Replace(strings.Replace(request, ":", " ", 1), "ID", id, 1))
	}
	for answer := range missing {
		t.Errorf("%s: there is no such answer", answer)
	}
	none, err := http.Get(web.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer none.Body.Close()
	var refused struct{ Help string }
	if err := json.NewDecoder(none.Body).Decode(&refused); err != nil || none.StatusCode != http.StatusNotFound {
		t.Fatal(none.Status, err)
	}
	routed := regexp.MustCompile(`(GET|POST) [^ ,]+`).FindAllString(refused.Help, -1)
	if d := cmp.Diff(slices.Sorted(maps.Keys(named)), routed); d != "" {
		t.Errorf("(-file +server):\n%s", d)
	}
}

// pool compiles the schemas of a file.
type pool struct {
	*testing.T
	compiler *jsonschema.Compiler
}

func apiSchemas(t *testing.T, text []byte) pool {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	p := pool{t, jsonschema.NewCompiler()}
	p.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := p.compiler.AddResource("api.json", document); err != nil {
		t.Fatal(err)
	}
	return p
}

// valid reports what is not as a schema says: a component's, or a list of such.
func (p pool) valid(schema map[string]any, what string, text []byte) {
	p.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		p.Errorf("%s: %v: %s", what, err, text)
		return
	}
	each := []any{value}
	if items, list := schema["items"].(map[string]any); list {
		each, list = value.([]any)
		if schema = items; !list {
			p.Errorf("%s: no list: %s", what, text)
		}
	}
	compiled, err := p.compiler.Compile("api.json" + schema["$ref"].(string))
	if err != nil {
		p.Fatal(err)
	}
	for _, one := range each {
		if err := compiled.Validate(one); err != nil {
			p.Errorf("%s: %v\n%s", what, err, text)
		}
	}
}
