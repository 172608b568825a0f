// A field above each long table that hides the rows without its words.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table.filterable")) {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 8) continue;
    const field = document.createElement("input");
    field.type = "search";
    field.className = "filter";
    field.placeholder = `Filter ${rows.length} rows: theorem 4.3, refuted, covariance …`;
    field.setAttribute("aria-label", "Filter the rows of the table");
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
    (table.closest(".table-wrapper") || table).before(field);
  }
});
