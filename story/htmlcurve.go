package story

import (
	"fmt"
	"strings"
)

// drawCurve draws, beside the lanes, the share of random continuations from each step that end in the violation, up to
// the last step of the torture phase. The pivotal step is labelled with its rise.
func (d *diagram) drawCurve() {
	if d.curve == 0 {
		return
	}
	path, last := fmt.Sprintf("M%.1f %.1f", d.curve, headHeight), headHeight
	var edge strings.Builder
	for _, f := range d.frames {
		if f.Share < 0 || f.Bottom == f.Top {
			continue
		}
		x := d.curve + float64(f.Share)/100*curveWidth
		fmt.Fprintf(&edge, "L%.1f %.1fL%.1f %.1f", x, f.Top, x, f.Bottom)
		if last = f.Bottom; f.Pivot {
			d.canvas.text("pivotal", d.curve+curveWidth+6, f.Top+4,
				fmt.Sprintf("%.0f → %.0f %%", 100*d.story.Pivot.Before.Share(), 100*d.story.Pivot.After.Share()))
		}
	}
	for _, x := range []float64{0, 0.5, 1} {
		d.line("scale", d.curve+x*curveWidth, headHeight, d.curve+x*curveWidth, last)
	}
	d.tag("path", "", "class", "area", "d", path+edge.String()+fmt.Sprintf("L%.1f %.1fZ", d.curve, last))
	d.tag("path", "", "class", "curve", "d", path+edge.String())
}
