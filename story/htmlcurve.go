package story

import (
	"fmt"
	"strings"
)

// drawCurve draws, beside the lanes, the share of random continuations from each step that end in the violation.
func (d *diagram) drawCurve() {
	if len(d.story.Curve) == 0 {
		return
	}
	d.canvas.text("head", d.curve, headHeight-28, "chance of the bug")
	d.canvas.text("head", d.curve, headHeight-12, "0")
	d.canvas.text("head end", d.curve+curveWidth, headHeight-12, "100 %")
	for _, x := range []float64{0, 0.5, 1} {
		d.line("scale", d.curve+x*curveWidth, headHeight-6, d.curve+x*curveWidth, d.curveEnd())
	}
	path, last := fmt.Sprintf("M%.1f %.1f", d.curve, headHeight), headHeight
	var edge strings.Builder
	for _, f := range d.frames {
		if f.Share < 0 || f.Bottom == f.Top {
			continue
		}
		x := d.curve + float64(f.Share)/100*curveWidth
		fmt.Fprintf(&edge, "L%.1f %.1fL%.1f %.1f", x, f.Top, x, f.Bottom)
		last = f.Bottom
	}
	d.tag("path", "", "class", "area", "d", path+edge.String()+fmt.Sprintf("L%.1f %.1fZ", d.curve, last))
	d.tag("path", "", "class", "curve", "d", path+edge.String())
	d.jump()
}

// curveEnd is the end of the curve: the last step of the torture phase.
func (d *diagram) curveEnd() float64 {
	end := headHeight
	for _, f := range d.frames {
		if f.Share >= 0 {
			end = f.Bottom
		}
	}
	return end
}

// jump labels the pivotal step with the rise of the curve, right of it.
func (d *diagram) jump() {
	p := d.story.Pivot
	if p == nil || p.Step <= 0 {
		return
	}
	for _, f := range d.frames {
		if f.Step == p.Step && f.Bottom > f.Top {
			d.canvas.text("pivotal", d.curve+curveWidth+6, f.Top+4,
				fmt.Sprintf("%.0f → %.0f %%", 100*p.Before.Share(), 100*p.After.Share()))
		}
	}
}
