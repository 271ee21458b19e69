// Package picture has porcupine draw the operations that break a model, for torture check --html.
package picture

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zktorture/zktorture/internal/cli"
	"github.com/zktorture/zktorture/linearizability"
)

func init() { cli.Picture = drawn }

// Bounds of porcupine's picture.
const (
	pictureMax  = 200              // operations
	pictureTime = 10 * time.Second // of the search, which looks for each longest part that can be ordered
)

// drawn asks porcupine about the operations of a verdict, which break the model by themselves. In place of the model's
// state a picture has the order that leads to it.
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
	of, asked := model.Porcupine(h)
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
	last, rows := int64(0), []linearizability.Value{}
	for i := range h {
		if last = max(last, h[i].Call); h[i].Return != linearizability.Forever {
			last = max(last, h[i].Return)
		}
	}
	for i := range asked {
		o, a := &h[asked[i].ClientId], &asked[i]
		if !slices.Contains(rows, o.Owner()) {
			rows = append(rows, o.Owner())
		}
		a.Output, a.ClientId, a.Return = o.String(), slices.Index(rows, o.Owner()), min(a.Return, last+1)
	}
	result, info := porcupine.CheckOperationsVerbose(shown, asked, pictureTime)
	if result != porcupine.Illegal {
		return nil, fmt.Errorf("porcupine did not find within %v that these operations cannot be ordered", pictureTime)
	}
	info.AddAnnotations([]porcupine.Annotation{{Tag: v.Property, Start: h[0].Call, End: last, Description: v.Rule}})
	return func(w io.Writer) error { return porcupine.Visualize(shown, info, w) }, nil
}
