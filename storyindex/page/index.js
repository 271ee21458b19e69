
"use strict";
// The plots: uPlot draws them, this says with which axes and colours.
(() => {
  const plots = JSON.parse(document.getElementById("data").textContent);
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colors = ["--one", "--two", "--three", "--four"];
  const drawn = [];

  const series = (p) => [{ label: p.x, value: (u, v) => (v == null ? "" : p.names ? p.names[v] : v.toFixed(2)) }].concat(
    p.series.map((name, i) => ({
      label: name,
      stroke: () => color(colors[i % colors.length]),
      width: 2,
      paths: p.names ? () => null : undefined,
      points: { show: Boolean(p.names), size: 7, fill: () => color(colors[i % colors.length]) },
      value: (u, v, of, at) => (at == null ? "" : v == null ? "not found" : p.names ? v : v.toFixed(1)),
    })));

  const axis = (more) => ({ stroke: () => color("--ink"), grid: { stroke: () => color("--rule") }, ticks: { stroke: () => color("--edge") }, ...more });

  const draw = (p) => {
    const card = document.createElement("section");
    card.className = "card plot";
    const title = document.createElement("h2");
    title.textContent = p.title;
    card.append(title);
    document.getElementById("plots").append(card);
    const names = { values: (u, at) => at.map((v) => p.names[v] ?? ""), rotate: -60, size: 64, gap: 8, space: 14, incrs: [1, 2, 5, 10, 20, 50, 100] };
    drawn.push([card, new uPlot({
      width: card.clientWidth - 30, height: 260,
      scales: { x: { time: false, range: (u, from, to) => (p.names ? [-0.5, p.names.length - 0.5] : [from, Math.max(to, from + 1e-9)]) }, y: p.log ? { distr: 3 } : { range: (u, from, to) => [0, Math.max(to, 1)] } },
      axes: [axis(p.names ? names : { label: p.x }), axis({ label: p.label, size: 64 })],
      series: series(p),
    }, p.data, card)]);
  };

  plots.forEach(draw);
  addEventListener("resize", () => drawn.forEach(([card, plot]) => plot.setSize({ width: card.clientWidth - 30, height: 260 })));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach(([, plot]) => plot.redraw()));
})();
