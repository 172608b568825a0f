// A field above each long table that hides the rows without its words, and one above a gallery's cards.
function addFilter(place, items, what) {
  const field = document.createElement("input");
  field.type = "search";
  field.className = "filter";
  field.placeholder = `Filter ${items.length} ${what}: theorem 4.3, refuted, covariance …`;
  field.setAttribute("aria-label", `Filter the ${what}`);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const item of items) {
      const text = item.textContent.toLowerCase();
      item.hidden = !words.every((word) => text.includes(word));
    }
  });
  place.before(field);
}

document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table.filterable")) {
    const rows = [...table.tBodies[0].rows];
    if (rows.length >= 8) addFilter(table.closest(".table-wrapper") || table, rows, "rows");
  }
  const cards = [...document.querySelectorAll(".gallery .card")];
  if (cards.length >= 8) addFilter(document.querySelector(".gallery").closest("section"), cards, "figures");
});
