// Above each long table and above the gallery: a field for words, a choice of verdict and of source, and how
// many are shown.
document.addEventListener("DOMContentLoaded", () => {
  const EXAMPLES = ["temperature", "clip", "covariance", "KL", "target", "bonus", "entropy"];
  for (const table of document.querySelectorAll("table.filterable, table.docutils")) {
    const rows = [...(table.tBodies[0]?.rows ?? [])];
    const long = table.classList.contains("filterable") ? 8 : 25;
    const source = (row) => (row.cells[0].textContent.trim().match(/^([a-z-]+)\./) || ["", ""])[1];
    if (rows.length >= long) {
      add(table.closest(".table-wrapper") || table, rows, source);
    }
  }
  const galleries = [...document.querySelectorAll(".gallery")];
  if (galleries.length) {
    const heading = (card) => card.closest("section").querySelector("h2").firstChild.textContent.trim();
    const cards = galleries.flatMap((gallery) => [...gallery.children]);
    const first = galleries[0].closest("section");
    add(first, cards, heading, () => {
      for (const gallery of galleries) {
        gallery.closest("section").hidden = [...gallery.children].every((card) => card.hidden);
      }
    });
  }

  function add(before, items, sourceOf, after = () => {}) {
    const texts = items.map((item) => item.textContent.toLowerCase());
    const examples = EXAMPLES.filter((word) => {
      const fitting = texts.filter((text) => text.includes(word.toLowerCase())).length;
      return 0 < fitting && fitting < items.length;
    }).slice(0, 2);
    const verdicts = items.map((item) => [...item.querySelectorAll(".badge")].map((b) => b.textContent));
    const sources = items.map(sourceOf);
    const form = document.createElement("form");
    form.className = "filters";
    form.setAttribute("role", "search");
    const words = form.appendChild(document.createElement("input"));
    words.type = "search";
    words.placeholder = examples.length ? `words: ${examples.join(", or ")}` : "words";
    words.setAttribute("aria-label", "Words to find");
    const choices = [["verdict", verdicts.flat()], ["source", sources]].map(([name, found]) => {
      const known = [...new Set(found)].filter(Boolean);
      const choice = document.createElement("select");
      choice.setAttribute("aria-label", name);
      choice.append(new Option(`any ${name}`, ""), ...known.map((value) => new Option(value)));
      if (known.length > 1) form.append(choice);
      return choice;
    });
    const count = form.appendChild(document.createElement("output"));
    count.setAttribute("role", "status");
    const show = () => {
      const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      const [verdict, source] = choices.map((choice) => choice.value);
      let shown = 0;
      items.forEach((item, i) => {
        item.hidden = !(wanted.every((word) => texts[i].includes(word))
          && (!verdict || verdicts[i].includes(verdict)) && (!source || sources[i] === source));
        shown += !item.hidden;
      });
      count.textContent = `${shown} of ${items.length}`;
      after();
    };
    form.addEventListener("input", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    show();
    before.before(form);
  }
});
