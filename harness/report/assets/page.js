// Sorting, filtering, tooltips, copying. Whatever the page says is there without any of it.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];

const make = (tag, attributes, text = "") => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
};

const said = make("p", { class: "hidden", role: "status", "aria-live": "polite" });
document.body.append(said);

// ---- the case table: what is known of a row, its order, and which rows are shown

const table = document.querySelector("table.cases");
const filter = document.querySelector(".filter");
const groups = table ? [...table.tBodies] : [];
const order = groups.map((group) => [...group.rows]);
const rows = order.flatMap(([first, ...others]) => others.map((row) => read(row, first)));
const headings = table ? all("thead th", table) : [];
const columns = headings.map((heading) => heading.textContent);
const flat = make("tbody", { role: "rowgroup" });
const collator = new Intl.Collator("en", { numeric: true });
const state = { text: "", show: new Set(), column: "", way: "" };

// A row has the parameters of its group as well, except those it sets otherwise.
function read(row, first) {
  const facts = (element) => all(".parameters > span", element);
  const own = facts(row);
  const named = new Set(own.map((fact) => fact.firstChild.textContent));
  const usual = facts(first).filter((fact) => !named.has(fact.firstChild.textContent));
  const workload = first.querySelector(".workload-name").textContent;
  const parts = [row.cells[0], ...own, ...usual, ...all(".cold", row)];
  const words = [workload, ...parts.map((part) => part.textContent)].join(" ").toLowerCase();
  const name = `${workload} ${row.querySelector("th a").textContent}`;
  return { element: row, cells: [...row.cells], outcome: row.className, workload, words, name };
}

// A number where the column has numbers, else text; NaN where this row has none.
function figure(row, column) {
  if (column === 0) return row.name;
  const cell = row.cells[column];
  return cell.dataset.label === "parameters" ? cell.textContent : Number(cell.dataset.by ?? NaN);
}

function sortRows() {
  const column = columns.indexOf(state.column);
  table.classList.toggle("flat", column >= 0);
  headings.forEach((heading, index) => heading.setAttribute("aria-sort", index === column ? state.way : "none"));
  if (column < 0) {
    flat.remove();
    groups.forEach((group, index) => group.append(...order[index]));
    table.append(...groups);
    return;
  }
  const keyed = rows.map((row) => [row, figure(row, column)]);
  const known = keyed.filter(([, key]) => key === key);
  const sign = state.way === "descending" ? -1 : 1;
  const compare = typeof known[0]?.[1] === "string" ? collator.compare : (one, other) => one - other;
  known.sort(([, one], [, other]) => sign * compare(one, other));
  const unknown = keyed.filter(([, key]) => key !== key);
  for (const row of rows) {
    if (!row.cells[0].querySelector(".of-group")) row.cells[0].append(make("span", { class: "of-group quiet" }, row.workload));
  }
  groups.forEach((group) => group.remove());
  flat.append(...[...known, ...unknown].map(([row]) => row.element));
  table.append(flat);
}

function filterRows() {
  const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const fits = (!state.show.size || state.show.has(row.outcome)) && words.every((word) => row.words.includes(word));
    row.element.hidden = !fits;
    shown += fits;
  }
  groups.forEach((group, index) => {
    order[index][0].hidden = order[index].slice(1).every((row) => row.hidden);
    group.hidden = order[index][0].hidden;
  });
  if (!filter) return;
  filter.querySelector(".shown").textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} cases shown`;
  filter.querySelector(".clear").hidden = !words.length && !state.show.size;
}

// ---- the state of the table as an address: #cases?text=float16&show=failed&sort=ratio.descending

function address() {
  const told = new URLSearchParams();
  if (state.text.trim()) told.set("text", state.text.trim());
  if (state.show.size) told.set("show", [...state.show].join("."));
  if (state.column) told.set("sort", `${state.column}.${state.way}`);
  return told.size ? `#cases?${told}` : "#cases";
}

function apply() {
  sortRows();
  filterRows();
  if (!filter) return;
  const text = filter.querySelector("#filter-text");
  if (text.value.trim() !== state.text.trim()) text.value = state.text;
  for (const box of all("input[type=checkbox]", filter)) box.checked = state.show.has(box.value);
}

function change(changes) {
  Object.assign(state, changes);
  apply();
  history.replaceState(null, "", address());
}

function readAddress(hash) {
  const told = new URLSearchParams(hash.slice(hash.indexOf("?") + 1));
  const [, column = "", way = ""] = /^(.*)\.(ascending|descending)$/.exec(told.get("sort") ?? "") ?? [];
  const outcomes = new Set(rows.map((row) => row.outcome));
  Object.assign(state, {
    text: told.get("text") ?? "",
    show: new Set((told.get("show") ?? "").split(".").filter((each) => outcomes.has(each))),
    column: columns.includes(column) ? column : "",
    way: columns.includes(column) ? way : "",
  });
  apply();
  document.getElementById("cases").scrollIntoView();
}

// Of numbers the largest first: the slowest, the worst; of words the first.
function turn(column) {
  const first = column === "case" || column === "parameters" ? "ascending" : "descending";
  const second = first === "ascending" ? "descending" : "ascending";
  if (state.column !== column) return change({ column, way: first });
  return change(state.way === first ? { way: second } : { column: "", way: "" });
}

if (rows.length > 1) {
  table.classList.add("sortable");
  headings.forEach((heading, index) => {
    const button = make("button", { type: "button" });
    if (heading.dataset.tip) button.dataset.tip = heading.dataset.tip;
    heading.removeAttribute("data-tip");
    button.append(...heading.childNodes);
    heading.append(button);
    heading.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => turn(columns[index]));
  });
}

if (filter) {
  const clear = make("button", { type: "button", class: "clear" }, "show all");
  filter.append(clear);
  filter.hidden = false;
  filter.addEventListener("input", () => {
    const checked = all("input:checked", filter).map((box) => box.value);
    change({ text: filter.querySelector("#filter-text").value, show: new Set(checked) });
  });
  clear.addEventListener("click", () => {
    change({ text: "", show: new Set() });
    filter.querySelector("#filter-text").focus();
  });
  filterRows();
}

// ---- links: to a row, and to what is folded

for (const { element, name } of rows) {
  element.cells[0].append(" ", make("a", { class: "anchor", href: `#${element.id}`, "aria-label": `address of ${name}` }, "#"));
}

function follow() {
  const hash = location.hash;
  if (table && hash.startsWith("#cases?")) return readAddress(hash);
  const target = hash.length > 1 && document.getElementById(decoded(hash.slice(1)));
  if (!target) return undefined;
  if (target.hidden) {
    Object.assign(state, { text: "", show: new Set() });
    apply();
  }
  for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  return target.scrollIntoView();
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a lone % is no escape
  }
}

addEventListener("hashchange", follow);
follow();

// ---- paper: what is folded beside the cases, which stay as they were left

let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = all("details:not([open], .case, .fold)");
  for (const part of unfolded) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of unfolded) part.open = false;
});

// ---- copying: a page opened as a file may have no clipboard, then what is to be copied is selected

async function copied(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return "copied";
  } catch {
    if (!element) return "";
    getSelection().selectAllChildren(element);
    return "selected: press Ctrl+C";
  }
}

document.addEventListener("click", async (event) => {
  const anchor = event.target.closest("a.anchor");
  if (anchor && await copied(anchor.href)) said.textContent = "address copied";
});

for (const block of all("pre.command")) {
  const button = make("button", { type: "button", class: "copy", "aria-label": `copy: ${block.getAttribute("aria-label")}` }, "copy");
  const box = make("div", { class: "copyable" });
  block.replaceWith(box);
  box.append(block, button);
  button.addEventListener("click", async () => {
    said.textContent = button.textContent = await copied(block.textContent, block);
    setTimeout(() => { button.textContent = "copy"; }, 2500);
  });
}

// ---- a timeline is one stop of the tab key, and arrow keys lead from event to event

const WAYS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };
document.addEventListener("keydown", (event) => {
  const mark = event.target.closest("g[data-tip]");
  if (!mark || !(event.key in WAYS) || event.ctrlKey || event.altKey || event.metaKey) return;
  const marks = all(":scope > g[data-tip]", mark.parentElement);
  const next = marks[Math.max(0, Math.min(marks.length - 1, marks.indexOf(mark) + WAYS[event.key]))];
  event.preventDefault();
  mark.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
});

// ---- one tooltip for everything that has a data-tip, by pointer and by keyboard

const tip = make("div", { id: "tip", role: "tooltip", hidden: "" });
document.body.append(tip);
let tipped = null;

function place() {
  const MARGIN = 8;
  const box = tipped.getBoundingClientRect();
  const [width, height] = [document.documentElement.clientWidth, document.documentElement.clientHeight];
  tip.hidden = box.bottom < 0 || box.top > height; // out of sight until it is scrolled to
  const left = Math.max(MARGIN, Math.min(box.left + box.width / 2 - tip.offsetWidth / 2, width - tip.offsetWidth - MARGIN));
  const above = box.top - tip.offsetHeight - MARGIN;
  const below = Math.min(box.bottom + MARGIN, height - tip.offsetHeight - MARGIN);
  tip.style.left = `${left}px`;
  tip.style.top = `${Math.max(MARGIN, above >= MARGIN ? above : below)}px`;
}

function showTip(element) {
  if (tipped === element) return;
  hideTip();
  tipped = element;
  tip.textContent = element.dataset.tip;
  element.setAttribute("aria-describedby", "tip");
  place();
}

function hideTip() {
  tipped?.removeAttribute("aria-describedby");
  tipped = null;
  tip.hidden = true;
}

const tipOf = (node) => (node instanceof Element ? node.closest("[data-tip]") : null);
document.addEventListener("pointerover", ({ target }) => {
  const element = tipOf(target);
  if (element) showTip(element);
});
document.addEventListener("pointerout", ({ target, relatedTarget }) => {
  const stays = relatedTarget && (tip.contains(relatedTarget) || tipped?.contains(relatedTarget));
  if (tipped && !stays && (tipOf(target) || target === tip) && tipped !== document.activeElement) hideTip();
});
document.addEventListener("focusin", ({ target }) => (tipOf(target) ? showTip(tipOf(target)) : hideTip()));
document.addEventListener("focusout", hideTip);
document.addEventListener("keydown", ({ key }) => { if (key === "Escape") hideTip(); });
document.addEventListener("scroll", () => { if (tipped) place(); }, { capture: true, passive: true });
addEventListener("resize", hideTip);
