// Above each long table and above the gallery: a field for words, a choice of verdict and of source, and how
// many are shown. The map of losses has a choice for each of CHOSEN, whose cells list values.
document.addEventListener("DOMContentLoaded", () => {
  const EXAMPLES = ["temperature", "clip", "covariance", "KL", "target", "bonus", "entropy"];
  const CHOSEN = ["first order", "entropy", "off policy", "costs", "engines"];
  for (const table of document.querySelectorAll("table.filterable, table.docutils")) {
    const rows = [...(table.tBodies[0]?.rows ?? [])];
    const long = table.classList.contains("filterable") ? 8 : 25;
    const source = (row) => (row.cells[0].textContent.trim().match(/^([a-z-]+)\./) || ["", ""])[1];
    if (rows.length >= long) {
      const heads = table.classList.contains("losses") ? [...table.tHead.rows[0].cells] : [];
      const listed = CHOSEN.map((name) => [name, heads.findIndex((cell) => cell.textContent.trim() === name)])
        .filter(([, place]) => place >= 0)
        .map(([name, place]) => [name, rows.map((row) => row.cells[place].textContent.trim().split(/,\s+/)
          .filter((value) => value !== "–"))]);
      add(table.closest(".table-wrapper") || table, rows, source, () => {}, listed);
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
  // On a phone the rows of these wide tables are stacked: each cell stands below the last, with its column's name.
  for (const table of document.querySelectorAll(
    "#the-ledger-of-claims table, #what-becomes-of-trl-s-options table, table.losses")) {
    const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
    table.classList.add("stacked");
    for (const row of table.tBodies[0].rows) {
      for (const cell of row.cells) {
        const name = heads[cell.cellIndex];
        if (cell.cellIndex && name && cell.textContent.trim()) cell.dataset.name = name;
      }
    }
  }
  // A name breaks behind its dots, underscores and the like, not within a word. Digits, and a file's
  // ending, stay with what is before them.
  const part = /(?<=_)(?=[^_])|(?<=\.)(?=[A-Za-z_]{3})/, piece = /(?<=[/,=:([{])(?=[^/,=:\]})])/;
  const breaks = { H1: part, H2: part, SUMMARY: /(?<=[/_])/, SPAN: new RegExp(`${part.source}|${piece.source}`) };
  for (const name of document.querySelectorAll("h1, h2, summary, .sig-prename .pre, :not(pre) > code > .pre")) {
    const words = name.firstChild?.nodeValue ?? "";
    name.classList.toggle("flag", words.startsWith("-") && words.length < 40);
    const parts = words.split(breaks[name.tagName]);
    if (parts.length > 1 && (name.tagName !== "SPAN" || words.length > 12)) {
      name.firstChild.replaceWith(
        ...parts.flatMap((one, i) => (i ? [document.createElement("wbr"), one] : [one])));
      name.parentElement.classList.toggle("long", words.length > 30);
    }
  }

  function add(before, items, sourceOf, after = () => {}, listed = []) {
    const texts = items.map((item) => item.textContent.toLowerCase());
    const examples = EXAMPLES.filter((word) => {
      const fitting = texts.filter((text) => text.includes(word.toLowerCase())).length;
      return 0 < fitting && fitting < items.length;
    }).slice(0, 2);
    const verdicts = items.map((item) => [...item.querySelectorAll(".badge")].map((b) => b.textContent));
    const sources = items.map((item) => [sourceOf(item)]);
    const form = document.createElement("form");
    form.className = "filters";
    form.setAttribute("role", "search");
    const words = form.appendChild(document.createElement("input"));
    words.type = "search";
    words.placeholder = examples.length ? `words: ${examples.join(", or ")}` : "words";
    words.setAttribute("aria-label", "Words to find");
    const choices = [["verdict", verdicts], ["source", sources], ...listed].map(([name, values]) => {
      const known = [...new Set(values.flat())].filter(Boolean);
      const choice = document.createElement("select");
      choice.setAttribute("aria-label", name);
      choice.append(new Option(`any ${name}`, ""), ...known.map((value) => new Option(value)));
      if (known.length > 1) form.append(choice);
      return { choice, values };
    });
    const count = form.appendChild(document.createElement("output"));
    count.setAttribute("role", "status");
    const show = () => {
      const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      items.forEach((item, i) => {
        item.hidden = !(wanted.every((word) => texts[i].includes(word))
          && choices.every(({ choice, values }) => !choice.value || values[i].includes(choice.value)));
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
