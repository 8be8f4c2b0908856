// SPDX-License-Identifier: Apache-2.0
// The form that explains a request, and the reset of one of the counters it meets.
import { get, post } from "./ask.js";
import { count, duration, element, facts, say, words } from "./format.js";

const id = (name) => document.getElementById(name);
const missing = "(anonymous)";
const absent = "(absent)";

export class Explain {
  constructor() {
    this.form = id("explain-form");
    this.result = id("explained");
    this.headers = {};
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
    });
  }

  // headers: {caller: "X-Caller-Id", ...}: a field of the form for each.
  setHeaders(headers) {
    if (JSON.stringify(headers) === JSON.stringify(this.headers)) return;
    const typed = Object.fromEntries([...this.form.querySelectorAll("[data-dimension]")].map((input) => [input.dataset.dimension, input.value]));
    for (const input of this.form.querySelectorAll("[data-dimension]")) input.parentElement.remove();
    this.headers = headers;
    for (const [dimension, header] of Object.entries(headers)) {
      const input = element("input", { "data-dimension": dimension, autocomplete: "off", spellcheck: "false", title: `sent as ${header}` });
      input.value = typed[dimension] || "";
      id("explain-fields").append(element("label", {}, `${dimension} `, element("small", {}, header), input));
    }
  }

  field(dimension) {
    return [...this.form.querySelectorAll("[data-dimension]")].find((input) => input.dataset.dimension === dimension);
  }

  // From a ranking: what was clicked goes into the form, and the form comes into view.
  about(kind, name) {
    if (kind === "api") {
      const [first, second] = name.split(" ");
      if (second) this.form.elements.method.value = first;
      this.form.elements.path.value = (second || first).startsWith("/") ? second || first : "/";
    } else if (this.field(kind)) {
      this.field(kind).value = name;
    }
    id("explain").scrollIntoView({ block: "start" });
    (this.field(kind) || this.form.elements.path).focus({ preventScroll: true });
    this.ask();
  }

  query() {
    const { method, path, from, more } = this.form.elements;
    const query = new URLSearchParams({ method: method.value, path: path.value, from: from.value });
    for (const [dimension, header] of Object.entries(this.headers)) {
      const value = this.field(dimension).value;
      if (value) query.append("header", `${header}: ${value}`);
    }
    for (const line of more.value.split("\n")) if (line.trim()) query.append("header", line.trim());
    return query;
  }

  async ask() {
    try {
      this.show(await get(`/explain?${this.query()}`));
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error) {
    this.result.replaceChildren(element("p", { class: "problem", role: "alert" }, error.message));
  }

  show(found) {
    this.found = found;
    if (found.error) return this.fail(new Error(found.error));
    if (found.refused) return this.result.replaceChildren(element("p", { class: "problem" }, `Answered ${found.status} before anything is counted: ${found.refused}`));
    const refusing = found.layers.filter((layer) => layer.would_pass === "no" && layer.state === "counted").map((layer) => layer.layer);
    const now = found.blocked_by ? `blocked by layer ${found.blocked_by}` : refusing.length ? `refused by layer ${refusing.join(", ")}` : "let through";
    const about = [`It would be ${now} now.`, found.route ? `Route ${found.route} to ${found.upstream}.` : "No route: 404.", found.lane === "exempt" ? "Exempt lane." : "", found.cost > 1 ? `Cost ${found.cost}.` : ""];
    const identity = Object.entries(found.identity).filter(([, value]) => value !== absent).map(([name, value]) => `${name} ${value}`).join(" · ");
    const rows = found.layers.map((layer) => this.row(layer));
    const head = element("tr", {}, ...["Layer", "Used", ""].map((text) => element("th", { scope: "col" }, text || element("span", { class: "unseen" }, "Reset"))));
    this.result.replaceChildren(
      element("p", { class: `verdict small ${refusing.length || found.blocked_by ? "warn" : "good"}` }, about.filter(Boolean).join(" ")),
      element("p", { class: "quiet wrap" }, identity),
      element("table", { class: "list explained" }, element("thead", {}, head), element("tbody", {}, ...rows)));
  }

  row(layer) {
    const name = element("td", { class: "named" }, element("b", {}, layer.layer), element("small", {}, words(layer.state)), element("code", { title: layer.key || "" }, layer.key || ""));
    if (layer.used === undefined) {
      return element("tr", {}, name, element("td", {}, layer.limit ? `limit ${count(layer.limit)}` : "–"), element("td"));
    }
    const capacity = layer.used + layer.remaining;
    const meter = element("meter", { min: 0, max: capacity, value: layer.used, "aria-label": `${layer.used} of ${capacity} used` });
    const next = layer.would_pass === "yes" ? (layer.reset_ms > 0 ? `all free in ${duration(layer.reset_ms)}` : "untouched") : layer.retry_after_ms < 0 ? "never passes" : `passes in ${duration(layer.retry_after_ms)}`;
    const used = element("td", {}, element("span", {}, `${count(layer.used)} of ${count(capacity)}`), meter, element("small", { class: "next" }, next), element("small", { title: layer.source }, layer.source));
    const button = element("button", { type: "button", class: "reset", "aria-label": `Reset the counter of layer ${layer.layer}` }, "Reset…");
    button.addEventListener("click", () => this.reset(layer));
    return element("tr", { class: layer.would_pass === "no" ? "hit" : "" }, name, used, element("td", { class: "n" }, layer.used > 0 ? button : ""));
  }

  // The identity as the gateway found it names the counter.
  async reset(layer) {
    const key = {};
    for (const [dimension, value] of Object.entries(this.found.identity)) {
      if (dimension !== "node" && value !== absent) key[dimension] = value === missing ? null : value;
    }
    try {
      const counter = await get(`/counters?${this.counterQuery(layer.layer, key)}`);
      if (counter.counter !== layer.key) throw new Error(`This identity now leads to another counter, ${counter.counter}; explain the request again.`);
      if (!(await this.confirmed(layer, counter))) return;
      const done = await post("/counters/reset", { layer: layer.layer, key, lane: this.found.lane, confirm: counter.confirm });
      await this.ask();
      this.result.prepend(element("p", { class: "done", role: "status" }, `Layer ${layer.layer} starts from zero; ${count(done.used_before)} were used.`));
    } catch (error) {
      this.result.prepend(element("p", { class: "problem", role: "alert" }, error.message));
    }
  }

  counterQuery(layer, key) {
    const query = new URLSearchParams({ layer, lane: this.found.lane });
    for (const [dimension, value] of Object.entries(key)) query.append("key", value === null ? dimension : `${dimension}:${value}`);
    return query;
  }

  confirmed(layer, counter) {
    const dialog = id("reset-dialog");
    facts(id("reset-facts"), [["Layer", layer.layer], ["Counter", counter.counter], ["Used", `${count(counter.used)} of ${count(counter.used + counter.remaining)}`]]);
    dialog.returnValue = "cancel";
    dialog.showModal();
    return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "reset"), { once: true }));
  }
}
