// SPDX-License-Identifier: Apache-2.0
// Two stacked area charts with one time axis and one cursor: pointer, or arrow keys when focused.
import { element, layerColor, rate, say, time } from "./format.js";

const span = 300; // seconds shown
const pad = { left: 44, right: 8, top: 8, bottom: 18 };
const svg = (name, attributes = {}) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

// The next of 1, 2, 5, 10, ... that is not below.
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}

class Panel {
  constructor(root, label) {
    this.root = root;
    this.picture = svg("svg", { role: "slider", tabindex: 0, "aria-label": label, "aria-valuemin": 0, "aria-valuemax": span });
    this.grid = svg("g", { class: "grid" });
    this.areas = svg("g");
    this.cursor = svg("line", { class: "cursor", visibility: "hidden" });
    this.picture.append(this.grid, this.areas, this.cursor);
    root.append(this.picture);
  }

  size() {
    return [Math.max(this.root.clientWidth, 100), Math.max(this.root.clientHeight, 60)];
  }

  // series: [{color, values}]; values[n] belongs to ages[n], seconds before now.
  draw(ages, series) {
    const [width, height] = this.size();
    this.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const top = roundUp(Math.max(0, ...ages.map((_, n) => series.reduce((sum, each) => sum + each.values[n], 0))));
    const x = (age) => pad.left + (1 - age / span) * (width - pad.left - pad.right);
    const y = (value) => height - pad.bottom - (value / top) * (height - pad.top - pad.bottom);
    this.x = x;
    this.drawGrid(x, y, top, width);
    const floor = ages.map(() => 0);
    series.forEach((each, n) => {
      const area = this.areas.children[n] || this.areas.appendChild(svg("path"));
      const upper = ages.map((age, at) => `${x(age).toFixed(1)},${y(floor[at] + each.values[at]).toFixed(1)}`);
      const lower = ages.map((age, at) => `${x(age).toFixed(1)},${y(floor[at]).toFixed(1)}`).reverse();
      each.values.forEach((value, at) => { floor[at] += value; });
      area.setAttribute("d", ages.length > 1 ? `M${upper.join("L")}L${lower.join("L")}Z` : "");
      area.style.fill = each.color;
    });
    while (this.areas.children.length > series.length) this.areas.lastChild.remove();
  }

  drawGrid(x, y, top, width) {
    const marks = [];
    for (const value of [0, top / 2, top]) {
      marks.push(svg("line", { x1: pad.left, x2: width - pad.right, y1: y(value), y2: y(value) }));
      const label = svg("text", { x: pad.left - 6, y: y(value) + 4, "text-anchor": "end" });
      label.textContent = value === 1 ? "1" : rate(value);
      marks.push(label);
    }
    for (let minutes = 0; minutes <= 5; minutes += width < 520 ? 2 : 1) {
      const place = minutes === 0 ? "end" : minutes === 5 ? "start" : "middle";
      const label = svg("text", { x: x(minutes * 60), y: y(0) + 14, "text-anchor": place });
      label.textContent = minutes === 0 ? "now" : `−${minutes} min`;
      marks.push(label);
    }
    this.grid.replaceChildren(...marks);
  }

  point(age, text) {
    const at = age === null ? 0 : this.x(age);
    const height = this.size()[1];
    for (const [key, value] of Object.entries({ x1: at, x2: at, y1: pad.top, y2: height - pad.bottom })) this.cursor.setAttribute(key, value);
    this.cursor.setAttribute("visibility", age === null ? "hidden" : "visible");
    this.picture.setAttribute("aria-valuenow", age === null ? span : Math.round(span - age));
    this.picture.setAttribute("aria-valuetext", text);
  }
}

export class TrafficChart {
  constructor() {
    this.allowed = new Panel(document.getElementById("chart-allowed"), "Allowed requests per second; arrow keys walk through time");
    this.refused = new Panel(document.getElementById("chart-refused"), "Refused requests per second by layer; arrow keys walk through time");
    this.readout = document.getElementById("readout");
    this.at = null; // steps before the newest, or null: nothing is pointed at
    this.steps = [];
    for (const panel of [this.allowed, this.refused]) this.listen(panel);
    new ResizeObserver(() => this.draw()).observe(this.allowed.root);
  }

  listen(panel) {
    const picture = panel.picture;
    picture.addEventListener("pointermove", (event) => this.pointTo(panel, event));
    picture.addEventListener("pointerleave", () => this.choose(null));
    picture.addEventListener("blur", () => this.choose(null));
    picture.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: 1, ArrowRight: -1, PageUp: 30, PageDown: -30, Home: span, End: -span };
      if (event.key === "Escape") this.choose(null);
      if (!(event.key in moves)) return;
      event.preventDefault();
      this.choose((this.at ?? 0) + moves[event.key]);
    });
  }

  pointTo(panel, event) {
    if (!this.steps.length || !panel.x) return;
    const box = panel.picture.getBoundingClientRect();
    const share = (event.clientX - box.left - pad.left) / (box.width - pad.left - pad.right);
    const age = (1 - share) * span;
    let best = 0;
    this.steps.forEach((step, n) => { if (Math.abs(step.age - age) < Math.abs(this.steps[best].age - age)) best = n; });
    this.choose(this.steps.length - 1 - best);
  }

  choose(at) {
    this.at = at === null ? null : Math.min(Math.max(at, 0), Math.max(this.steps.length - 1, 0));
    this.show();
  }

  // points as the gateway gives them: [seq, wall_ms, allowed, refused, failed, by layer...], sums since its start.
  update(points, layers) {
    const newest = points.length ? points[points.length - 1][1] : 0;
    this.layers = layers;
    this.steps = [];
    for (let n = 1; n < points.length; ++n) {
      const [before, now] = [points[n - 1], points[n]];
      const seconds = (now[1] - before[1]) / 1000;
      const age = (newest - now[1]) / 1000;
      if (seconds <= 0 || age > span || age < 0) continue;
      const per = (at) => ((now[at] ?? 0) - (before[at] ?? 0)) / seconds;
      const byLayer = layers.map((_, layer) => per(5 + layer));
      const none = Math.max(0, per(3) - byLayer.reduce((sum, value) => sum + value, 0));
      this.steps.push({ age, wall: now[1], allowed: per(2), refused: per(3), byLayer, none });
    }
    this.draw();
  }

  draw() {
    const ages = this.steps.map((step) => step.age);
    this.allowed.draw(ages, [{ color: "var(--allowed)", values: this.steps.map((step) => step.allowed) }]);
    const series = (this.layers || []).map((_, layer) => ({ color: layerColor(layer), values: this.steps.map((step) => step.byLayer[layer]) }));
    series.push({ color: layerColor(-1), values: this.steps.map((step) => step.none) });
    this.refused.draw(ages, series);
    this.show();
  }

  show() {
    const step = this.at === null ? null : this.steps[this.steps.length - 1 - this.at];
    const last = step || this.steps[this.steps.length - 1];
    const text = last ? `${time(last.wall)}: ${rate(last.allowed)} allowed, ${rate(last.refused)} refused per second` : "no figures yet";
    this.allowed.point(step ? step.age : null, text);
    this.refused.point(step ? step.age : null, text);
    if (!step) return say(this.readout, "Point at the charts, or focus them and use the arrow keys, to read a moment.");
    const parts = this.layers.map((name, n) => [name, step.byLayer[n], n]).concat([["no layer", step.none, -1]]);
    this.readout.replaceChildren(
      element("b", {}, time(step.wall)), ` allowed ${rate(step.allowed)}/s, refused ${rate(step.refused)}/s `,
      ...parts.filter(([, value]) => value > 0).map(([name, value, n]) => this.chip(name, value, n)));
  }

  chip(name, value, n) {
    const dot = element("i", { class: "dot" });
    dot.style.background = layerColor(n);
    return element("span", { class: "chip" }, dot, `${name} ${rate(value)}/s`);
  }
}
