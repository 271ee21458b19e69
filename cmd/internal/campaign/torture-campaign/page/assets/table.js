"use strict";
// filtered hides what does not have all words of a search field; its result is to be called when there is something new.
const filtered = (field, things, more = () => true) => {
  const apply = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const e of things()) {
      const text = e.textContent.toLowerCase(), show = more(e) && words.every((w) => text.includes(w));
      if (e.hidden === show) e.hidden = !show;
      if (show) shown++;
    }
    return shown;
  };
  return apply;
};

// sortable makes the heads of a table sort its rows; its result is to be called when there is something new. Cells may
// have a data-value; rows without one keep the order in which they came.
const sortable = (table) => {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  let column = -1, way = 1;
  const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
  const order = (a, b) => {
    if (column >= 0) {
      const [x, y] = [value(a), value(b)], numbers = x !== "" && y !== "" && !isNaN(x) && !isNaN(y);
      const sign = numbers ? x - y : x.localeCompare(y);
      if (sign) return way * sign;
    }
    return a.dataset.number - b.dataset.number;
  };
  const apply = () => {
    const rows = [...body.rows], sorted = rows.toSorted(order);
    if (sorted.some((row, i) => row !== rows[i])) body.append(...sorted);
  };
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      [way, column] = [column === i ? -way : head.classList.contains("number") ? -1 : 1, i];
      heads.forEach((h, at) => (at === i ? h.setAttribute("aria-sort", way > 0 ? "ascending" : "descending") : h.removeAttribute("aria-sort")));
      apply();
    });
  });
  return apply;
};
