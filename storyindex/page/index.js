"use strict";
// The plots: uPlot draws them, this says with which axes and colours.
(() => {
  const figures = JSON.parse(document.getElementById("data").textContent);
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const line = (i) => color(`--line${(i % 8) + 1}`);
  const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  const full = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
  const height = 220;
  const drawn = [];

  const make = (tag, name, text) => {
    const e = document.createElement(tag);
    e.className = name;
    if (text) e.textContent = text;
    return e;
  };

  // pointed is the value under the cursor; without one, the last, which says how it ended.
  const pointed = (p, print) => (u, v, of, at) => {
    const value = at == null && !p.names ? u.data[of].at(-1) : v;
    return value == null ? (at == null || !p.names ? "" : "not found") : print(value);
  };

  const series = (p) => [{ label: p.x, value: pointed(p, (v) => (p.names ? p.names[v] : v.toFixed(2))) }].concat(
    p.series.map((name, i) => ({
      label: name,
      stroke: () => line(i),
      width: 2,
      dash: i < 4 ? undefined : [7, 3],
      paths: p.names ? () => null : uPlot.paths.linear(),
      points: { show: Boolean(p.names), size: 7, fill: () => line(i) },
      value: pointed(p, full.format),
    })));

  const axis = (more) => ({ stroke: () => color("--ink"), grid: { stroke: () => color("--rule") }, ticks: { stroke: () => color("--edge") }, ...more });

  // mark draws a vertical line where something happened.
  const mark = (p) => (u) => {
    for (const m of p.marks || []) {
      const x = Math.round(u.valToPos(m.x, "x", true)), { top, height } = u.bbox, right = x > u.bbox.left + u.bbox.width / 2;
      u.ctx.save();
      u.ctx.strokeStyle = u.ctx.fillStyle = color("--bad");
      u.ctx.lineWidth = devicePixelRatio;
      u.ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
      u.ctx.beginPath();
      u.ctx.moveTo(x, top);
      u.ctx.lineTo(x, top + height);
      u.ctx.stroke();
      u.ctx.font = `${12 * devicePixelRatio}px sans-serif`;
      u.ctx.textBaseline = "bottom";
      u.ctx.textAlign = right ? "right" : "left";
      u.ctx.fillText(m.label, x + (right ? -4 : 4) * devicePixelRatio, top + height - 4 * devicePixelRatio);
      u.ctx.restore();
    }
  };

  const range = (u, from, to) => [0, Math.max(to * 1.05, 1)];

  const draw = (p, key, parent) => {
    const box = make("div", "plot");
    box.append(make("h3", "", p.title));
    parent.append(box);
    const names = { values: (u, at) => at.map((v) => p.names[v] ?? ""), rotate: -60, size: 64, gap: 8, space: 14, incrs: [1, 2, 5, 10, 20, 50, 100] };
    drawn.push([box, new uPlot({
      width: box.clientWidth, height,
      cursor: p.names ? {} : { sync: { key } },
      scales: { x: { time: false, range: (u, from, to) => (p.names ? [-0.5, p.names.length - 0.5] : [from, Math.max(to, from + 1e-9)]) }, y: p.log ? { distr: 3 } : { range } },
      axes: [axis(p.names ? names : { label: p.x, labelSize: 20, size: 32, space: 60, values: (u, at) => at.map((v) => (Math.abs(v) < 1e4 ? full : short).format(v)) }), axis({ label: p.label, labelSize: 22, size: 56, values: p.log ? undefined : (u, at) => at.map((v) => short.format(v)) })],
      series: series(p),
      hooks: { draw: [mark(p)] },
    }, p.data, box)]);
  };

  figures.forEach((f, i) => {
    const card = make("section", "card figure"), title = make("h2", "", f.title), plots = make("div", "plots");
    if (f.file) {
      const link = make("a", "soft", f.file === f.title ? "the file" : f.file);
      link.href = f.href;
      title.append(link);
    }
    card.append(title, plots);
    document.getElementById("plots").append(card);
    f.plots.forEach((p) => draw(p, `figure ${i}`, plots));
  });
  const fit = new ResizeObserver(() => drawn.forEach(([box, plot]) => plot.setSize({ width: box.clientWidth, height })));
  drawn.forEach(([box]) => fit.observe(box));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach(([, plot]) => plot.redraw()));
})();
