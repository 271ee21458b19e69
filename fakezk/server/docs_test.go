package server_test

import (
	"os"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// The table of docs/serve.md has every request of the protocol.
func TestEveryRequestIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| request | answered | held by |")
	for code := range int32(200) {
		op := wire.Op(code)
		if strings.HasPrefix(op.String(), "op ") {
			continue
		}
		documented := false
		for line := range strings.Lines(table) {
			names, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
			documented = documented || strings.Contains(", "+names+",", ", "+op.String()+",")
		}
		if !documented {
			t.Errorf("%v is not in the table", op)
		}
	}
}
