// The live page: it asks for status.json again and again, and shows what has changed.
(() => {
  const every = 2000, patience = 10000;
  const at = (id) => document.getElementById(id);
  const whole = new Intl.NumberFormat("en"), short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  const set = (e, value) => { if (e.textContent !== String(value)) e.textContent = value; };
  const make = (tag, name = "", text = "") => Object.assign(document.createElement(tag), { className: name, textContent: text });
  const clock = (t) => new Date(t).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  const span = (s) => {
    s = Math.max(Math.round(s), 0);
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
    return `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
  };

  // rows keeps a row for each item of a list. A cell is a text, or [text, class, value to sort by, text that follows].
  const rows = (table, cells) => {
    const labels = [...table.tHead.rows[0].cells], names = labels.map((h) => h.textContent), kept = new Map(), sort = sortable(table);
    return (items, key) => {
      const there = new Set();
      items.forEach((item, number) => {
        const id = key(item);
        there.add(id);
        let row = kept.get(id);
        if (!row) {
          row = table.tBodies[0].insertRow();
          labels.forEach((h, i) => Object.assign(row.insertCell(), { className: h.className }).setAttribute("data-label", names[i]));
          kept.set(id, row);
        }
        row.dataset.number = number;
        cells(item).forEach((cell, i) => {
          const [text, name, value, more] = [cell].flat(), into = row.cells[i];
          if (value !== undefined) into.dataset.value = value;
          if (name === undefined) return set(into, text);
          if (!into.firstChild) into.append(make("strong"), make("span"));
          into.firstChild.className = name;
          set(into.firstChild, text);
          set(into.lastChild, more ?? "");
        });
      });
      for (const [id, row] of kept) {
        if (!there.has(id)) {
          row.remove();
          kept.delete(id);
        }
      }
      sort();
    };
  };

  const jobs = rows(document.querySelector("#jobs table"), (j) => [
    [j.verdict, `verdict ${j.verdict.replace(" ", "-")}`, j.verdict], `${j.kind} ${j.recipe}`, j.how,
    [j.units ? `${whole.format(j.done)} of ${whole.format(j.units)}` : whole.format(j.done), undefined, j.units ? j.done / j.units : j.done],
    [whole.format(j.episodes), undefined, j.episodes], [whole.format(j.failures), undefined, j.failures],
  ]);
  const jobRows = () => document.querySelector("#jobs tbody").rows;
  const filterJobs = filtered(document.querySelector("#jobs input"), jobRows);
  const showJobs = () => {
    const shown = filterJobs(), all = jobRows().length;
    set(at("jobcount"), shown === all ? all : `${shown} of ${all}`);
  };

  const workers = rows(document.querySelector("#workers table"), (w) => [
    w.name, [w.state, `verdict ${w.state}`, w.state, w.why && `: ${w.why}`], `${w.build} ${w.system}`,
    [whole.format(w.units), undefined, w.units], [w.unit < 0 ? "nothing" : `unit ${w.unit}`, undefined, w.unit],
    [`${span(w.silent)} ago`, undefined, w.silent],
  ]);

  // Failures are kept by their job and property, so that a story that is open stays open.
  const failures = new Map(), list = at("failurelist");
  const tell = async (f, into) => {
    set(into, "The story is fetched …");
    try {
      const answer = await fetch(`story?${new URLSearchParams({ job: f.job, property: f.property })}`);
      set(into, answer.ok ? await answer.text() : "There is no story yet.");
    } catch {
      set(into, "The coordinator does not answer. Close this and open it again.");
    }
  };
  const failure = (f) => {
    const e = make("details", "failure"), summary = make("summary"), message = make("span"), story = Object.assign(make("pre"), { tabIndex: 0 });
    const property = make("strong", f.expected ? "soft" : "property", f.property), meta = make("span", "meta");
    summary.append(property, " ", message, meta);
    e.append(summary, story);
    e.dataset.expected = f.expected;
    e.addEventListener("toggle", () => e.open && tell(f, story));
    return { e, message, meta };
  };
  const showFailures = () => {
    const shown = filterFailures();
    set(at("failurecount"), failures.size ? (shown === failures.size ? shown : `${shown} of ${failures.size}`) : "");
    at("nofailures").hidden = shown > 0;
    const zoo = at("failurefilter").value === "" && failures.size > 0;
    set(at("nofailures"), zoo ? "None so far, but for what animals of the zoo break, as they should." : failures.size ? "None has these words." : "None so far.");
  };
  const filterFailures = filtered(at("failurefilter"), () => list.children,
    (e) => e.dataset.expected === "false" || at("failureexpected").checked);
  const found = (all) => {
    const there = new Set();
    all.forEach((f, i) => {
      const key = JSON.stringify([f.job, f.property]);
      there.add(key);
      if (!failures.has(key)) failures.set(key, failure(f));
      const { e, message, meta } = failures.get(key);
      set(message, f.message);
      set(meta, `${f.kind} ${f.recipe}, ${f.how} · ${whole.format(f.times)} ${f.times === 1 ? "episode" : "episodes"}, the first is ${whole.format(f.first)}${f.id ? ` · ${f.id}` : ""}`);
      if (list.children[i] !== e) list.insertBefore(e, list.children[i] ?? null);
    });
    for (const [key, { e }] of failures) {
      if (!there.has(key)) {
        e.remove();
        failures.delete(key);
      }
    }
    showFailures();
  };

  // The matrix is drawn anew when it has changed.
  let drawnMatrix = "";
  const matrix = (m) => {
    if (drawnMatrix === (drawnMatrix = JSON.stringify(m))) return;
    const table = document.querySelector("#coverage table"), head = make("tr"), body = [];
    at("coverage").hidden = m.rows.length === 0;
    head.append(Object.assign(make("th", "", "operation"), { scope: "col" }), ...m.faults.map((f) => Object.assign(make("th", "number", f), { scope: "col" })));
    let kind = null;
    for (const r of m.rows) {
      if (r.kind !== kind) {
        const row = make("tr", "kind");
        row.append(Object.assign(make("th", "", kind = r.kind), { scope: "rowgroup", colSpan: m.faults.length + 1 }));
        body.push(row);
      }
      const row = make("tr");
      row.append(Object.assign(make("th", "", r.operation), { scope: "row" }), ...r.cells.map((c) => {
        if (!c.offered) return make("td", "soft", "–");
        const share = c.struck === c.offered ? 100 : Math.min(Math.max(Math.round(100 * c.struck / c.offered), c.struck ? 1 : 0), 99);
        return Object.assign(make("td", share === 0 ? "none" : share === 100 ? "all" : "", `${share} %`), { title: `${c.struck} of ${c.offered}` });
      }));
      body.push(row);
    }
    table.tHead.replaceChildren(head);
    table.tBodies[0].replaceChildren(...body);
  };

  // The plots.
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const height = 160;
  const axis = (more) => ({ stroke: () => color("--ink"), grid: { stroke: () => color("--rule") }, ticks: { stroke: () => color("--edge") }, ...more });
  const plot = (title, line, print) => {
    const box = make("div", "plot");
    box.append(make("h3", "", title));
    at("plots").append(box);
    let unit = ["s", 1];
    const u = new uPlot({
      width: box.clientWidth, height, cursor: { sync: { key: "course" } },
      scales: { x: { time: false }, y: { range: (_, from, to) => [0, Math.max(to * 1.05, 1)] } },
      axes: [axis({ size: 32, space: 60, values: (_, v) => v.map((n) => `${short.format(n)} ${unit[0]}`) }), axis({ size: 48, values: (_, v) => v.map((n) => short.format(n)) })],
      series: [{ label: "after", value: (self, v, of, i) => span(((i == null ? self.data[0].at(-1) : v) ?? 0) * unit[1]) }, { label: title, stroke: () => color(line), width: 2, points: { show: false },
        value: (self, v, of, i) => print((i == null ? self.data[of].at(-1) : v) ?? 0) }],
    }, [[], []], box);
    new ResizeObserver(() => u.setSize({ width: box.clientWidth, height })).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => u.redraw());
    return (times, values) => {
      const last = times.at(-1) ?? 0;
      unit = last < 300 ? ["s", 1] : last < 18000 ? ["min", 60] : ["h", 3600];
      u.setData([times.map((s) => s / unit[1]), values]);
    };
  };
  const plots = [
    [plot("episodes/s", "--line1", (v) => whole.format(Math.round(v))), "rates"],
    [plot("properties broken", "--line2", whole.format), "broken"],
    [plot("workers", "--line4", whole.format), "workers"],
  ];

  const reasons = (v) => {
    const all = v.red.concat(v.unclear), banner = at("red");
    if (banner.dataset.says !== (banner.dataset.says = JSON.stringify(all))) {
      banner.querySelector("ul").replaceChildren(...all.map((r) => make("li", "", r)));
    }
    set(at("redword"), v.red.length ? "red" : "unknown");
    banner.hidden = all.length === 0;
  };

  const show = (v) => {
    at("verdict").className = `badge ${v.verdict}`;
    set(at("verdict"), v.verdict);
    set(at("name"), v.name);
    set(at("what"), `${v.state}, plan ${v.digest.slice(0, 12)}, began ${clock(v.began)}, ${span(v.running)} ago; ${v.last < 0 ? "no result yet" : `last result ${span(v.last)} ago`}${v.twice ? `; ${whole.format(v.twice)} units were done twice` : ""}`);
    reasons(v);
    set(at("units"), v.units ? `${whole.format(v.done)} of ${whole.format(v.units)}` : whole.format(v.done));
    Object.assign(at("bar"), { hidden: !v.units, max: v.units || 1, value: v.done });
    set(at("episodes"), whole.format(v.episodes));
    set(at("rate"), whole.format(Math.round(v.rate)));
    for (const [id, n] of [["broken", v.broken], ["unknown", v.unknown]]) {
      set(at(id), whole.format(n));
      at(id).classList.toggle("bad", n > 0);
    }
    const there = v.workers.filter((w) => w.state === "working" || w.state === "idle").length;
    set(at("there"), there === v.workers.length ? there : `${there} of ${v.workers.length}`);
    at("canary").className = v.canaries.some((c) => c.word.includes("too")) ? "long bad" : "long";
    set(at("canary"), v.canaries.map((c) => `${c.word}: ${whole.format(c.times)} of ${whole.format(c.episodes)}`).join("; ") || "none");
    at("ends").className = "long";
    set(at("ends"), v.ends ? clock(v.ends) : v.state === "ended" ? "it has ended" : "not known");
    found(v.found);
    jobs(v.jobs, (j) => j.number);
    showJobs();
    workers(v.workers, (w) => w.name);
    matrix(v.coverage);
    plots.forEach(([draw, of]) => draw(v.course.times, v.course[of]));
    document.title = `${v.verdict}${v.units ? ` ${Math.floor(100 * v.done / v.units)} %` : ""} · ${v.name}`;
  };

  let heard = Date.now();
  const silence = () => {
    const silent = Date.now() - heard, e = at("silence");
    e.hidden = silent < patience;
    if (!e.hidden) set(e, `No news since ${new Date(heard).toLocaleTimeString()}: the coordinator does not answer. What is below is as it was then. This page goes on asking.`);
    if (!e.hidden) document.title = `no news · ${at("name").textContent}`;
  };
  // news is the status, or null if nobody answers.
  const news = async () => {
    try {
      const answer = await fetch("status.json", { cache: "no-cache", signal: AbortSignal.timeout(2 * every) });
      return answer.ok ? await answer.json() : null;
    } catch {
      return null;
    }
  };
  const ask = async () => {
    const v = await news();
    setTimeout(ask, every);
    if (v) {
      heard = Date.now();
      show(v);
    }
    silence();
  };
  document.querySelector("#jobs input").addEventListener("input", showJobs);
  at("failurefilter").addEventListener("input", showFailures);
  at("failureexpected").addEventListener("change", showFailures);
  ask();
})();
