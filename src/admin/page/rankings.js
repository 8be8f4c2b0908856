// SPDX-License-Identifier: Apache-2.0
// Who sends most and who is refused most: callers, users, APIs. A name leads to the form that explains it.
import { count, element, fill, layerColor, say, title } from "./format.js";

const kinds = [["caller", "Callers"], ["user", "Users"], ["api", "APIs"]];
const few = 8;
const id = (name) => document.getElementById(name);

// Both rankings of one kind as rows of one list.
function merged(lists) {
  const rows = new Map();
  for (const what of ["requests", "refusals"]) {
    for (const { name, count: value, error } of lists[what]) {
      const row = rows.get(name) || { name, requests: null, refusals: 0, error: 0 };
      row[what] = value;
      row.error = Math.max(row.error, error);
      rows.set(name, row);
    }
  }
  return [...rows.values()];
}

class Card {
  constructor(kind, heading, onName) {
    this.kind = kind;
    this.all = false;
    this.body = element("tbody");
    this.empty = element("p", { class: "quiet empty" }, "Nobody yet.");
    this.more = element("button", { type: "button", class: "more", hidden: true, "aria-expanded": "false" });
    this.more.addEventListener("click", () => { this.all = !this.all; this.draw(); });
    this.onName = onName;
    const head = element("tr", {}, element("th", { scope: "col" }, heading), element("th", { scope: "col", class: "n" }, "requests"), element("th", { scope: "col", class: "n" }, "refused"));
    this.root = element("div", { class: "card", "data-kind": kind }, element("table", { class: "list who" }, element("thead", {}, head), this.body), this.empty, this.more);
  }

  makeRow() {
    const name = element("button", { type: "button", class: "name" });
    name.addEventListener("click", () => this.onName(this.kind, name.textContent));
    return element("tr", {}, element("td", { class: "named" }, name, element("span", { class: "by" })), element("td", { class: "n" }), element("td", { class: "n" }));
  }

  set(rows, layersOf, order, page) {
    const key = (row) => [row[order] ?? -1, row[order === "requests" ? "refusals" : "requests"] ?? -1];
    this.rows = rows.sort((a, b) => key(b)[0] - key(a)[0] || key(b)[1] - key(a)[1] || (a.name < b.name ? -1 : 1));
    this.layersOf = layersOf;
    this.page = page;
    this.most = Math.max(1, ...rows.map((row) => row[order] ?? 0));
    this.order = order;
    this.draw();
  }

  draw() {
    const shown = this.all ? this.rows : this.rows.slice(0, few);
    fill(this.body, shown, () => this.makeRow(), (line, row) => this.show(line, row));
    this.empty.hidden = shown.length > 0;
    this.more.hidden = this.rows.length <= few;
    say(this.more, this.all ? `Show ${few}` : `Show all ${this.rows.length}`);
    this.more.setAttribute("aria-expanded", String(this.all));
  }

  show(line, row) {
    const [named, requests, refused] = line.children;
    const about = row.error > 0 ? ` ≤${count(row.error)} too high` : "";
    say(named.children[0], row.name);
    title(named.children[0], `Explain ${row.name}`);
    line.style.setProperty("--share", `${(100 * (row[this.order] ?? 0)) / this.most}%`);
    say(requests, row.requests === null ? "–" : count(row.requests));
    say(refused, count(row.refusals));
    line.classList.toggle("hit", row.refusals > 0);
    title(requests, row.requests === null ? "not among the hundred with most requests" : `${count(row.requests)} requests${about}`);
    title(refused, `${count(row.refusals)} refused${about}`);
    named.children[1].replaceChildren(...(this.layersOf.get(row.name) || []).slice(0, 4).map(([layer, hits]) => this.chip(layer, hits)));
  }

  chip(layer, hits) {
    const dot = element("i", { class: "dot" });
    dot.style.background = layerColor(this.page.layers.indexOf(layer));
    return element("span", { class: "chip", title: `${count(hits)} refused by layer ${layer}` }, dot, `${layer} ${count(hits)}`);
  }
}

export class Rankings {
  constructor(onName) {
    this.cards = kinds.map(([kind, heading]) => new Card(kind, heading, onName));
    id("who").append(...this.cards.map((card) => card.root));
    this.order = "refusals";
    for (const choice of document.querySelectorAll("input[name=order]")) {
      choice.addEventListener("change", () => { this.order = choice.value; this.draw(); });
    }
    id("filter").addEventListener("input", () => this.draw());
  }

  update(page, top) {
    this.page = page;
    this.top = top;
    this.draw();
  }

  draw() {
    if (!this.top) return;
    const wanted = id("filter").value.toLowerCase();
    const layersOf = new Map();
    for (const { layer, name, count: hits } of this.top.refused) {
      layersOf.set(name, [...(layersOf.get(name) || []), [layer, hits]]);
    }
    let error = 0;
    for (const card of this.cards) {
      const rows = merged(this.top[card.kind]).filter((row) => row.name.toLowerCase().includes(wanted));
      error = Math.max(error, ...rows.map((row) => row.error));
      card.set(rows, card.kind === "caller" ? layersOf : new Map(), this.order, this.page);
    }
    say(id("who-note"), "Counts of the last one to two minutes, a hundred names of each at most. " +
      (error > 0 ? `There are more names than are kept: a count may be too high by up to ${count(error)}, never too low.` : "Exact, up to 1,000 requests a second of each worker; beyond, every sixteenth counts for sixteen."));
  }
}
