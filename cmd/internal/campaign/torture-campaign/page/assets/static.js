// The static page: its tables can be sorted and searched.
(() => {
  for (const table of document.querySelectorAll("table.stack")) {
    [...table.tBodies[0].rows].forEach((row, i) => (row.dataset.number = i));
    sortable(table);
  }
  for (const field of document.querySelectorAll(".filter input")) {
    const card = field.closest("section"), shown = card.querySelector("h2 .soft"), all = shown.textContent;
    const things = () => card.querySelectorAll("tbody tr, details.failure"), apply = filtered(field, things);
    field.closest("p").hidden = false;
    field.addEventListener("input", () => {
      const n = apply();
      shown.textContent = n === things().length ? all : `${n} of ${all}`;
    });
  }
})();
