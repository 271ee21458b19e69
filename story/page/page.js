"use strict";
// The scrubber: one number, the frame, from which everything else follows.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const scrub = $("scrub"), diagram = $("diagram"), certificate = $("certificate");
  const now = diagram && diagram.querySelector(".now"), cursor = certificate && certificate.querySelector(".cursor");
  let frame = -1;

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
    return l.sets.includes(step) ? "its data are set" : "";
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
    if (step > 0 || !there(l, step)) li.append(element("span", "note", note(l, step)));
    return li;
  };

  const show = (next, follow) => {
    next = Math.max(0, Math.min(next, data.frames.length - 1));
    if (next === frame) return;
    frame = next;
    const f = data.frames[frame];
    scrub.value = frame;
    const at = (f.time ? "step " : "stamp ") + f.step + (f.time ? " · " + f.time : "");
    scrub.setAttribute("aria-valuetext", at);
    $("at").textContent = at;
    $("share").textContent = f.share < 0 ? "" : "chosen anew from here, " + f.share + " % of runs end in " + $("share").dataset.property;
    $("lines").replaceChildren(...f.lines.map((l) => element("li", "", l)));
    $("tree").replaceChildren(...data.znodes.map((z) => row(z, f.step)).filter((r) => r));
    if (cursor) { cursor.setAttribute("x1", f.x); cursor.setAttribute("x2", f.x); }
    if (!now) return;
    now.setAttribute("y", f.top);
    now.setAttribute("height", Math.max(f.bottom - f.top, 2));
    if (follow) reveal(now.getBoundingClientRect());
  };

  // reveal scrolls as little as is needed for a row of the diagram to be seen.
  const reveal = (box) => {
    const low = window.innerHeight * (window.innerWidth > 900 ? 1 : 0.54) - 12;
    const by = box.bottom > low ? box.bottom - low : box.top < 12 ? box.top - 12 : 0;
    if (by) window.scrollBy({ top: by });
  };

  // nearest finds the frame under the pointer, in the certificate's units.
  const nearest = (event) => {
    const box = certificate.getBoundingClientRect();
    const x = (event.clientX - box.left) * certificate.viewBox.baseVal.width / box.width;
    return data.frames.reduce((best, f, i) => Math.abs(f.x - x) < Math.abs(data.frames[best].x - x) ? i : best, 0);
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

  if (!scrub || !data.frames.length) return; // a recorded history has no steps
  scrub.max = data.frames.length - 1;
  scrub.addEventListener("input", () => show(Number(scrub.value), true));
  $("back").addEventListener("click", () => show(frame - 1, true));
  $("forth").addEventListener("click", () => show(frame + 1, true));
  if ($("pivot")) $("pivot").addEventListener("click", () => show(data.pivot, true));
  if (diagram) diagram.addEventListener("click", (event) => {
    const hit = event.target.closest("[data-frame]");
    if (hit) show(Number(hit.dataset.frame), false);
  });
  if (certificate) for (const kind of ["pointerdown", "pointermove"]) {
    certificate.addEventListener(kind, (event) => { if (event.buttons & 1) show(nearest(event), false); });
  }
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, pre")) return;
    const to = { ArrowLeft: frame - 1, ArrowRight: frame + 1, Home: 0, End: data.frames.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(to, true);
  });
  document.documentElement.classList.add("scripted");
  show(data.start, false);
})();
