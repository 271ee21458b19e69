package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zktorture/zktorture/cmd/internal/cli/judges"
	"github.com/zktorture/zktorture/linearizability"
)

// Bounds of porcupine's picture.
const (
	pictureMax  = 200              // operations
	pictureTime = 10 * time.Second // of the search, which looks for each longest part that can be ordered
)

// picture has porcupine draw the operations of a verdict, which break the model by themselves.
func picture(model linearizability.Model, v linearizability.Verdict) (draw func(io.Writer) error, err error) {
	h := linearizability.History(v.Operations)
	switch {
	case judges.Knows(model.Name):
		return nil, fmt.Errorf("a %s has no model that operations could be ordered by", model.Name)
	case len(h) == 0:
		return nil, errors.New("few operations that show the violation are not known")
	case len(h) > pictureMax:
		return nil, fmt.Errorf("it takes %d operations to show the violation, and a picture has at most %d", len(h), pictureMax)
	}
	type described struct {
		input any
		text  string
	}
	of, asked := model.Porcupine(h)
	shown := of
	shown.Step = func(state, input, output any) (bool, any) { return of.Step(state, input.(described).input, output) }
	shown.DescribeOperation = func(input, _ any) string { return input.(described).text }
	last := int64(0)
	for _, o := range h {
		if last = max(last, o.Call); o.Return != linearizability.Forever {
			last = max(last, o.Return)
		}
	}
	for i := range asked {
		o, a := h[asked[i].ClientId], &asked[i]
		a.Input, a.ClientId, a.Return = described{a.Input, o.String()}, o.Client, min(a.Return, last+1)
	}
	result, info := porcupine.CheckOperationsVerbose(shown, asked, pictureTime)
	if result != porcupine.Illegal {
		return nil, fmt.Errorf("porcupine did not find within %v that these operations cannot be ordered", pictureTime)
	}
	info.AddAnnotations([]porcupine.Annotation{{Tag: v.Property, Start: h[0].Call, End: last, Description: v.Rule}})
	return func(w io.Writer) error { return porcupine.Visualize(shown, info, w) }, nil
}
