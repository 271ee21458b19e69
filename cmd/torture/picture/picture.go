// Package picture has porcupine draw the operations that break a model, for torture check --html.
package picture

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zktorture/zktorture/internal/cli"
	"github.com/zktorture/zktorture/internal/cli/judges"
	"github.com/zktorture/zktorture/internal/webpage"
	"github.com/zktorture/zktorture/linearizability"
)

func init() { cli.Picture = drawn }

// Bounds of porcupine's picture.
const (
	pictureMax  = 200              // operations
	pictureTime = 10 * time.Second // of the search, which looks for each longest part that can be ordered
)

// drawn asks porcupine about the operations of a verdict, which break the model by themselves. In place of the model's
// state a picture has the order that leads to it. Of a kind with a judge in place of a model, porcupine orders nothing.
func drawn(model linearizability.Model, v linearizability.Verdict) (draw func(io.Writer) error, err error) {
	h := linearizability.History(v.Operations)
	if len(h) == 0 {
		return nil, errors.New("few operations that show the violation are not known")
	} else if len(h) > pictureMax {
		return nil, fmt.Errorf("it takes %d operations to show the violation, and a picture has at most %d", len(h), pictureMax)
	}
	type ordered struct {
		state any
		order string
	}
	ordering := !judges.Knows(model.Name)
	of, asked := unordered(h)
	if ordering {
		of, asked = model.Porcupine(h)
	}
	shown := of
	shown.Init = func() any { return ordered{of.Init(), ""} }
	shown.Step = func(state, input, output any) (bool, any) {
		before := state.(ordered)
		legal, after := of.Step(before.state, input, output)
		return legal, ordered{after, before.order + fmt.Sprintln(output)}
	}
	shown.Equal = func(a, b any) bool {
		if of.Equal == nil {
			return a.(ordered).state == b.(ordered).state
		}
		return of.Equal(a.(ordered).state, b.(ordered).state)
	}
	shown.Hash = func(state any) uint64 { return of.Hash(state.(ordered).state) }
	shown.DescribeOperation = func(_, output any) string { return output.(string) }
	shown.DescribeState = func(state any) string { return state.(ordered).order }
	last, rows, names := int64(0), []linearizability.Value{}, []string{}
	for i := range h {
		if last = max(last, h[i].Call); h[i].Return != linearizability.Forever {
			last = max(last, h[i].Return)
		}
	}
	for i := range asked {
		o, a := &h[asked[i].ClientId], &asked[i]
		if !slices.Contains(rows, o.Owner()) {
			rows, names = append(rows, o.Owner()), append(names, fmt.Sprintf("client %d", o.Client))
		}
		a.Output, a.ClientId, a.Return = o.String(), slices.Index(rows, o.Owner()), min(a.Return, last+1)
	}
	result, info := porcupine.CheckOperationsVerbose(shown, asked, pictureTime)
	if result != porcupine.Illegal {
		return nil, fmt.Errorf("porcupine did not find within %v that these operations cannot be ordered", pictureTime)
	}
	info.AddAnnotations([]porcupine.Annotation{{Tag: v.Property, Start: h[0].Call, End: last, Description: v.Rule}})
	return func(w io.Writer) error {
		var page strings.Builder
		if err := porcupine.Visualize(shown, info, &page); err != nil {
			return err
		}
		framed, err := frame(page.String(), model, v, ordering, names)
		if err == nil {
			_, err = io.WriteString(w, framed)
		}
		return err
	}, nil
}

// unordered is a model that allows nothing, and the operations as porcupine takes them.
func unordered(h linearizability.History) (m porcupine.Model, asked []porcupine.Operation) {
	for i := range h {
		asked = append(asked, porcupine.Operation{ClientId: i, Call: h[i].Call, Return: h[i].Return})
	}
	m.Init, m.Hash = func() any { return nil }, func(any) uint64 { return 0 }
	m.Step = func(any, any, any) (bool, any) { return false, nil }
	return m, asked
}

// style has porcupine's picture in the colours of our pages, and scroll in its card.
const style = `body { max-width: none; } text { fill: var(--ink); } .history-text { fill: #1b2330; } .link { fill: var(--link); }
.divider { stroke: var(--edge); } .linearization { stroke: var(--soft); fill: var(--soft); }
.linearization-invalid { stroke: var(--bad); fill: var(--bad); } .tooltip { background: var(--card); border-color: var(--edge); }
#canvas { margin: 0 0 14px; padding: 8px; overflow-x: auto; background: var(--card); border: 1px solid var(--edge); border-radius: 10px; }
#legend { position: static; margin: 0; padding: 0; overflow: hidden; background: none; border: 0; } #legend svg > :not(#jump-link) { display: none; } #jump-link { transform: translateX(-520px); }
.intro { max-width: 90ch; }
`

// frame is porcupine's page with our colours, the verdict, and how to read it.
func frame(page string, model linearizability.Model, v linearizability.Verdict, ordering bool, clients []string) (string, error) {
	rows, err := json.Marshal(clients)
	if err != nil {
		return "", err
	}
	look, hidden := `These operations together break the rule.`, "#legend { display: none; }\n"
	if ordering {
		look, hidden = `The line joins those that the model allows one after another, as far as it gets; where it is red the next one does not fit. `+
			`Hover over a box for the longest order with it, click to keep that.`, ""
	}
	title := html.EscapeString(fmt.Sprintf(": a %s breaks %s", model.Name, v.Property))
	for old, new := range map[string]string{
		"<title>Porcupine</title>": "<title>violation" + title + "</title>",
		"</style>":                 webpage.Look + style + hidden + "</style>",
		"<body>": `<body><h1><strong class="verdict violation">violation</strong>` + title + `</h1><p class="intro">` + html.EscapeString(v.Rule) +
			`.</p><p class="intro soft">A row is a client, and a box an operation, from its call to its return. ` + look + `</p>`,
		`<div id="canvas"></div>`:                      `<div id="canvas" tabindex="0" role="group" aria-label="the operations over time"></div>`,
		"const tag = i < realClients ? i.toString() :": "const tag = i < realClients ? clients[i] :",
		"text.textContent = i < realClients ? i :":     "text.textContent = i < realClients ? clients[i] :",
		"render(data)\n    </script>":                  "const clients = " + string(rows) + "\n      render(data)\n    </script>",
	} {
		if strings.Count(page, old) != 1 {
			return "", fmt.Errorf("porcupine's page is not as expected: it does not have one %s", old)
		}
		page = strings.Replace(page, old, new, 1)
	}
	return page, nil
}
