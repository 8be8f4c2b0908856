// SPDX-License-Identifier: Apache-2.0
// Numbers, times and elements. Text from the gateway goes into the page as text nodes only.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export const count = (value) => whole.format(value);

// Three digits are enough to read a rate by.
export function rate(value) {
  if (value >= 1e6) return tenth.format(value / 1e6) + " M";
  if (value >= 1e5) return whole.format(value / 1e3) + " k";
  if (value >= 1e4) return tenth.format(value / 1e3) + " k";
  if (value >= 10 || value === 0) return whole.format(value);
  return value < 0.05 ? "<0.1" : tenth.format(value);
}

export const percent = (part, all) => (all > 0 ? (part / all < 0.005 && part > 0 ? "<1" : whole.format((100 * part) / all)) : "0") + "\u00a0%";

// Number and unit stay on one line.
export function duration(ms) {
  const units = [["d", 86400e3], ["h", 3600e3], ["min", 60e3], ["s", 1e3]];
  if (ms < 1000) return `${ms > 0 && ms < 10 ? tenth.format(ms) : Math.round(ms)}\u00a0ms`;
  const at = units.findIndex(([, size]) => ms >= size);
  const [name, size] = units[at];
  const rest = at + 1 < units.length ? Math.floor((ms % size) / units[at + 1][1]) : 0;
  return `${Math.floor(ms / size)}\u00a0${name}` + (rest ? ` ${rest}\u00a0${units[at + 1][0]}` : "");
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
export const time = (ms) => clock.format(ms);
export const dayTime = (ms) => `${day.format(ms)} ${clock.format(ms)}`;

export const words = (name) => name.replaceAll("_", " ");

// element("td", {class: "n", title: "..."}, "text", child)
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// Only what changed is touched, so that a selection or a screen reader's place stays.
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function title(node, text) {
  if (node.title !== text) node.title = text;
}

// As many rows as items; rows stay where they are, so that focus does.
export function fill(body, items, make, show) {
  while (body.children.length > items.length) body.lastElementChild.remove();
  items.forEach((item, n) => {
    if (!body.children[n]) body.append(make());
    show(body.children[n], item, n);
  });
}

// A list of terms: [["name", "value"], ...]
export function facts(list, entries) {
  fill(list, entries, () => element("div", {}, element("dt"), element("dd")), (row, [name, value]) => {
    say(row.children[0], name);
    say(row.children[1], value);
    title(row.children[1], value);
  });
}

const colors = 8;
export const layerColor = (index) => (index < 0 ? "var(--layer-none)" : `var(--layer-${index % colors})`);
