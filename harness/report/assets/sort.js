// The heading of the ratios becomes a button: slowest first, fastest first, and back to the order of the page.
"use strict";
for (const table of document.querySelectorAll("table.cases")) {
  const heading = table.querySelector("th.of-ratio");
  if (!heading) continue;
  const groups = [...table.tBodies];
  const order = groups.map((group) => [...group.rows]);
  const ranked = order.flat().filter((row) => row.dataset.ratio);
  const others = order.flat().filter((row) => !row.dataset.ratio && !row.classList.contains("group"));
  if (ranked.length < 2) continue;
  const flat = document.createElement("tbody");
  flat.setAttribute("role", "rowgroup");
  const button = document.createElement("button");
  button.type = "button";
  button.append(...heading.childNodes);
  heading.append(button);

  const states = ["none", "descending", "ascending"];
  const words = ["sort by ratio", "slowest first", "fastest first"];
  let state = 0;
  const show = () => {
    table.classList.toggle("flat", state > 0);
    heading.setAttribute("aria-sort", states[state]);
    button.title = words[state];
    if (state === 0) {
      flat.remove();
      groups.forEach((group, index) => group.append(...order[index]));
      table.append(...groups);
      return;
    }
    const sign = state === 1 ? -1 : 1;
    const sorted = [...ranked].sort((one, other) => sign * (one.dataset.ratio - other.dataset.ratio));
    groups.forEach((group) => group.remove());
    flat.append(...sorted, ...others);
    table.append(flat);
  };
  button.addEventListener("click", () => {
    state = (state + 1) % states.length;
    show();
  });
  show();
}
