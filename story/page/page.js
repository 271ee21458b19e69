"use strict";
// The scrubber: one number, the frame, from which everything else follows.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const scrub = $("scrub");
  const pictures = [$("diagram"), $("folded")].filter((p) => p); // the same, whole and with uneventful steps folded
  let frame = -1, folded = false;
  const shown = () => $(folded ? "folded" : "diagram");

  const element = (name, className, text) => {
    const e = document.createElement(name);
    e.className = className;
    e.textContent = text;
    return e;
  };

  // life returns what a znode is after a step: the life that it is in, or was in last; null before all.
  const life = (znode, step) => znode.lives.filter((l) => l.from <= step).pop() || null;
  const there = (l, step) => l.until < 0 || step < l.until;

  const note = (l, step) => {
    if (!there(l, step)) return l.until === step ? l.end : "gone since step " + l.until;
    if (l.from === step) return l.maker;
    const set = l.sets.indexOf(step);
    return set < 0 ? "" : set + 1 < l.data.length ? l.data[set] + " → " + l.data[set + 1] : "data set";
  };

  const row = (znode, step) => {
    const l = life(znode, step);
    if (!l) return null;
    const li = element("li", "", "");
    li.classList.toggle("asked", znode.asked);
    li.classList.toggle("gone", !there(l, step));
    li.classList.toggle("fresh", there(l, step) && (l.from === step || l.sets.includes(step)) && step > 0);
    li.classList.toggle("lost", l.until === step);
    li.style.paddingLeft = 4 + 14 * Math.max(znode.depth, 0) + "px";
    li.title = znode.path;
    li.append(element("span", "name", znode.name));
    if (l.owner && there(l, step)) {
      const dead = l.ended >= 0 && l.ended <= step;
      li.append(element("span", dead ? "of dead" : "of", l.owner + (dead ? ", expired" : "")));
    }
    const data = l.data[l.sets.filter((at) => at <= step).length] || '""';
    if (there(l, step) && data !== '""' && !l.sets.includes(step)) li.append(element("span", "data", "= " + data));
    if (step > 0 || !there(l, step)) li.append(element("span", "note", note(l, step)));
    return li;
  };

  const show = (next, follow) => {
    next = Math.max(0, Math.min(next, data.frames.length - 1));
    if (next === frame) return;
    frame = next;
    const f = data.frames[frame];
    scrub.value = frame;
    const moves = data.frames.some((other) => other.time !== f.time);
    const at = "step " + f.step + (moves && f.time ? " · " + f.time : "");
    scrub.setAttribute("aria-valuetext", at);
    $("at").textContent = at;
    $("share").textContent = f.share < 0 ? "" : "from here, " + f.share + " % of random runs end in " + $("share").dataset.property;
    $("lines").replaceChildren(...f.lines.map((l, i) => {
      const li = element("li", "", l);
      if (f.code[i]) li.append(element("div", "code", f.code[i]));
      return li;
    }));
    $("said").textContent = "";
    $("tree").replaceChildren(...data.znodes.map((z) => row(z, f.step)).filter((r) => r));
    for (const p of pictures) {
      const [top, bottom] = p.id === "folded" ? [f.foldedTop, f.foldedBottom] : [f.top, f.bottom];
      p.querySelector(".now").setAttribute("y", top);
      p.querySelector(".now").setAttribute("height", Math.max(bottom - top, 2));
    }
    if (shown() && follow) reveal(shown().querySelector(".now").getBoundingClientRect());
  };

  // visit shows a step that the reader has chosen: the address names it from now on.
  const visit = (next, follow) => {
    show(next, follow);
    history.replaceState(null, "", hash());
  };
  const hash = () => "#step-" + data.frames[frame].step;

  // arrive shows the step that the address names, or the last before it.
  const arrive = () => {
    const named = /^#step-(\d+)$/.exec(location.hash);
    if (!named) return false;
    show(data.frames.filter((f) => f.step <= Number(named[1])).length - 1, false);
    if (shown()) shown().querySelector(".now").scrollIntoView({ block: "center" });
    return true;
  };

  // reveal scrolls as little as is needed for a row of the diagram to be seen.
  const reveal = (box) => {
    const low = (window.innerWidth > 900 ? window.innerHeight : document.querySelector(".scrubber").getBoundingClientRect().top) - 12;
    const by = box.bottom > low ? box.bottom - low : box.top < 60 ? box.top - 60 : 0;
    if (by) window.scrollBy({ top: by });
  };

  // pin keeps the heads of the columns in the window.
  const pin = () => {
    const p = shown(), { width, height } = p.viewBox.baseVal, box = p.getBoundingClientRect();
    const by = Math.max(0, Math.min(-box.top * width / box.width, height - 100));
    p.querySelector(".heads").setAttribute("transform", "translate(0 " + by + ")");
  };

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      const said = await copy(button.dataset.copy) ? "copied" : "select it";
      button.textContent = said;
    });
  }

  // copy works also where the clipboard is closed to pages from files.
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = element("textarea", "", "");
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };

  // Search: in the lines and the code of steps, and in the rows of a recorded history.
  const rows = [...document.querySelectorAll("#operations tbody tr")];
  const texts = rows.length ? rows.map((r) => r.textContent) : data.frames.map((f) => [...f.lines, ...f.code].join("\n"));
  let matches = [], match = -1;
  const find = () => {
    const query = $("query").value.trim().toLowerCase();
    matches = texts.flatMap((t, i) => query && t.toLowerCase().includes(query) ? [i] : []);
    match = -1;
    rows.forEach((r, i) => r.classList.toggle("found", matches.includes(i)));
    for (const hit of document.querySelectorAll(".hit:not(.number)")) {
      hit.classList.toggle("found", matches.includes(Number(hit.dataset.frame)));
    }
    count();
  };
  const count = () => {
    const n = matches.length;
    $("matches").textContent = !$("query").value.trim() ? "" : !n ? "none" : match < 0 ? n + " found" : match + 1 + " of " + n;
  };
  const jump = (by) => {
    if (!matches.length) return;
    match = match < 0 ? (by > 0 ? 0 : matches.length - 1) : (match + by + matches.length) % matches.length;
    if (rows.length) rows[matches[match]].scrollIntoView({ block: "center" });
    else visit(matches[match], true);
    count();
  };
  $("query").addEventListener("input", find);
  $("previous").addEventListener("click", () => jump(-1));
  $("search").addEventListener("submit", (event) => { event.preventDefault(); jump(1); });
  $("query").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.shiftKey) return;
    event.preventDefault();
    jump(-1);
  });

  // Zoom: from half of the natural size to four times.
  let zoom = 0;
  const resize = (by) => {
    zoom = by && Math.max(-3, Math.min(zoom + by, 6));
    for (const p of pictures) {
      const width = zoom ? p.viewBox.baseVal.width * 1.26 ** zoom + "px" : "";
      p.style.width = width;
      [p.style.minWidth, p.style.maxWidth] = zoom ? [width, width] : p.natural;
    }
  };
  for (const p of pictures) p.natural = [p.style.minWidth, p.style.maxWidth];

  const setFold = (on) => {
    folded = on;
    for (const p of pictures) p.toggleAttribute("hidden", p !== shown());
    $("fold").setAttribute("aria-pressed", on);
  };

  // Export: the diagram is drawn by itself with the page's style sheet, in the colours that are seen.
  const portable = () => {
    const picture = shown(), { width, height } = picture.viewBox.baseVal;
    const svg = picture.cloneNode(true), style = document.createElementNS("http://www.w3.org/2000/svg", "style");
    const look = document.querySelector("style").textContent, colours = getComputedStyle(document.documentElement);
    const names = [...new Set(look.match(/--[\w-]+(?=:)/g))];
    style.textContent = look + ":root{" + names.map((n) => n + ":" + colours.getPropertyValue(n)).join(";") +
      ";background:var(--card);font:12px system-ui,sans-serif}.now{display:none}";
    svg.prepend(style, document.querySelector(".tips defs").cloneNode(true));
    svg.removeAttribute("style");
    svg.querySelector(".heads")?.removeAttribute("transform");
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    return { width, height, text: new XMLSerializer().serializeToString(svg) };
  };
  const save = (blob, name) => {
    const a = document.createElement("a");
    a.href = URL.createObjectURL(blob);
    a.download = name;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  };
  $("print").addEventListener("click", () => print());
  addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
  document.documentElement.classList.add("scripted");

  if (!scrub || !data.frames.length) return; // a recorded history has no steps
  scrub.max = data.frames.length - 1;
  scrub.addEventListener("input", () => visit(Number(scrub.value), true));
  $("back").addEventListener("click", () => visit(frame - 1, true));
  $("forth").addEventListener("click", () => visit(frame + 1, true));
  $("panel").addEventListener("click", () => $("panel").setAttribute("aria-expanded", !$("panelbody").toggleAttribute("hidden")));
  if ($("pivot")) $("pivot").addEventListener("click", () => visit(data.pivot, true));
  const copyLink = async () => {
    const done = await copy(location.href.replace(/#.*/, "") + hash());
    $("said").textContent = done ? "the link to step " + data.frames[frame].step + " is copied" : "the address has the link";
  };
  $("link").addEventListener("click", copyLink);
  for (const p of pictures) p.addEventListener("click", (event) => {
    const hit = event.target.closest("[data-frame]");
    if (!hit) return;
    visit(Number(hit.dataset.frame), false);
    if (hit.classList.contains("number")) copyLink();
  });
  if (pictures.length) {
    addEventListener("scroll", pin);
    addEventListener("beforeprint", () => document.querySelectorAll(".heads").forEach((e) => e.removeAttribute("transform")));
    $("smaller").addEventListener("click", () => resize(-1));
    $("natural").addEventListener("click", () => resize(0));
    $("larger").addEventListener("click", () => resize(1));
    $("svg").addEventListener("click", () => save(new Blob([portable().text], { type: "image/svg+xml" }), "story.svg"));
    $("png").addEventListener("click", async () => {
      const { width, height, text } = portable(), canvas = document.createElement("canvas");
      const image = Object.assign(new Image(), { src: "data:image/svg+xml," + encodeURIComponent(text) });
      await image.decode();
      const scale = Math.min(2, 16000 / height);
      [canvas.width, canvas.height] = [width * scale, height * scale];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, "story.png"), "image/png");
    });
    document.querySelector(".flow").addEventListener("keydown", (event) => {
      const by = { "-": -1, "0": 0, "+": 1, "=": 1 }[event.key];
      if (by !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) resize(by);
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, [tabindex]")) return;
    const to = { ArrowLeft: frame - 1, ArrowRight: frame + 1, Home: 0, End: data.frames.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    visit(to, true);
  });
  addEventListener("hashchange", arrive);
  if ($("fold")) {
    $("fold").addEventListener("click", () => setFold(!folded));
    setFold(data.fold);
  }
  if (!arrive()) show(data.start, false);
})();
