// Orders what a search finds, and says how each page begins. Sphinx looks for the query's words; a page comes
// first whose title, or a name that it is indexed by, is made of them, and the API reference last.
var Scorer = (() => {
  const LAST = /^reference\/(?!index)/, LATE = /^(metrics\/.*|changelog|ledger|contributing|where_things_are|engines_matrix)$/;
  const stemmer = new Stemmer();
  const words = (text) => (text.toLowerCase().match(/\d+(?:\.\d+)+\p{L}?|[\p{L}\p{N}]+/gu) ?? [])
    .filter((word) => !stopwords.has(word)).map((word) => stemmer.stemWord(word));
  let names; // of each page, as lists of words

  function learn({ docnames, titles, indexentries }) {
    names = new Map(docnames.map((name, i) => [name, [words(titles[i])]]));
    for (const [entry, places] of Object.entries(indexentries)) {
      for (const [page, , isMain] of places) if (isMain) names.get(docnames[page]).push(words(entry));
    }
  }

  /* 1 where a name is the query; less where words are missing, or others stand beside them. */
  function likeness(wanted, name) {
    const shared = wanted.filter((word) => name.includes(word)).length;
    return (shared / wanted.length) * (0.5 + 0.5 * (shared / name.length));
  }

  return {
    objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
    title: 15, partialTitle: 7, term: 5, partialTerm: 2,
    score(found) {
      const [page, , , , score, , kind] = found;
      if (!names) learn(Search._index);
      const wanted = words(new URLSearchParams(location.search).get("q") ?? "");
      if (kind === "index") found[2] = ""; // the page itself, which is found by its words, too
      found[3] ??= Search._index.excerpts[Search._index.docnames.indexOf(page)];
      const best = Math.max(0, ...names.get(page).map((name) => likeness(wanted, name) || 0));
      const isOf = page.endsWith(wanted.join("-")) || page.includes(`.${wanted.join("-")}`); // as theorem-4.3b
      return 100 * best + (isOf ? 5 : 0) + Math.min(score, 15) - (LAST.test(page) ? 200 : LATE.test(page) ? 40 : 0);
    },
  };
})();
