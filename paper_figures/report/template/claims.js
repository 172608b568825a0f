/* The list of statements: filters, search, links to one of them; and what printing needs. */
(() => {
  "use strict";
  const claims = [...document.querySelectorAll(".claims details")];
  const form = document.getElementById("filters");
  const expand = document.getElementById("expand");

  if (form) {
    const fields = form.elements;
    const texts = new Map(); // read when first searched: the page opens sooner
    const textOf = (claim) => {
      if (!texts.has(claim)) {
        texts.set(claim, `${claim.dataset.words} ${claim.textContent}`.toLowerCase());
      }
      return texts.get(claim);
    };

    const filter = () => {
      const words = fields.words.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      claims.forEach((claim) => {
        const fits = ["verdict", "proof"].every((name) =>
          !fields[name].value || claim.dataset[name] === fields[name].value)
          && (!fields.source.value || claim.closest(".source").dataset.source === fields.source.value)
          && words.every((word) => textOf(claim).includes(word));
        claim.hidden = !fits;
        shown += fits;
      });
      document.querySelectorAll(".source").forEach((source) => {
        source.hidden = !source.querySelector("details:not([hidden])");
      });
      document.getElementById("nothing").hidden = shown > 0;
      document.getElementById("count").textContent = shown === claims.length
        ? `${shown} statements` : `${shown} of ${claims.length} statements`;
    };

    form.hidden = false;
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(filter)); // after the fields are empty
    document.querySelectorAll(".pick").forEach((button) => button.addEventListener("click", () => {
      form.reset();
      fields.source.value = button.dataset.source;
      fields.verdict.value = button.dataset.verdict;
      setTimeout(() => { filter(); form.scrollIntoView(); });
      fields.verdict.focus({ preventScroll: true });
    }));
    expand.addEventListener("click", () => {
      const open = expand.getAttribute("aria-pressed") === "false";
      claims.forEach((claim) => { claim.open = open; });
      expand.setAttribute("aria-pressed", String(open));
      expand.textContent = open ? "Close all" : "Open all";
    });

    const reveal = () => { // a link to a statement opens it, filtered or not
      const claim = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (!claims.includes(claim)) return;
      if (claim.hidden) form.reset();
      claim.open = true;
      setTimeout(() => { filter(); claim.scrollIntoView(); });
    };
    window.addEventListener("hashchange", reveal);
    reveal();
  }

  // On paper nothing can be opened: print what is shown now in full, and then fold it again.
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open]):not(.provenance)")]
      .filter((details) => !details.hidden);
    opened.forEach((details) => { details.open = true; });
  });
  window.addEventListener("afterprint", () => opened.forEach((details) => { details.open = false; }));
})();
