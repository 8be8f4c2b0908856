// SPDX-License-Identifier: Apache-2.0
// The first look: what happens now, in one sentence and five figures; and the chain.
import { count, duration, element, fill, layerColor, percent, rate, say, title, words } from "./format.js";

const id = (name) => document.getElementById(name);
const recent = 10e3; // what "now" means
const cut = (name) => (name.length > 40 ? `${name.slice(0, 39)}…` : name);

// What was counted in the last `ms`, per second and in all. sums: one entry for each column of the points.
export function lately(points, ms) {
  const last = points[points.length - 1];
  if (!last) return { seconds: 0, sums: [] };
  const first = points.find((point) => last[1] - point[1] <= ms) || last;
  return { seconds: (last[1] - first[1]) / 1000, sums: last.map((value, at) => Math.max(0, value - (first[at] ?? 0))) };
}

function verdict(now, layers, top) {
  const [, , allowed, refused, failed] = now.sums;
  if (!now.seconds) return ["Waiting for the first figures.", ""];
  if (allowed + refused === 0) return ["No traffic in the last ten seconds.", ""];
  const errors = failed > 0 ? ` ${rate(failed / now.seconds)}/s are answered with a server error.` : "";
  if (refused === 0) return [`Nobody is being refused.${errors}`, failed > 0 ? "warn" : "good"];
  const byLayer = layers.map((name, n) => [name, now.sums[5 + n] || 0]).sort((a, b) => b[1] - a[1]);
  const [layer, hits] = byLayer[0] || ["", 0];
  const all = top.refused.filter((each) => each.layer === layer).reduce((sum, each) => sum + each.count, 0);
  const worst = top.refused.find((each) => each.layer === layer);
  const by = hits > 0 ? `, ${percent(hits, refused)} of them by layer ${layer}` : "";
  const who = worst && all > 0 ? ` Most hit: ${cut(worst.name)} (${percent(worst.count, all)} of that layer’s refusals).` : "";
  return [`${percent(refused, allowed + refused)} of all requests are refused${by}.${who}${errors}`, layer === "node" ? "bad" : "warn"];
}

export function showHeadline(page, live) {
  const now = lately(page.points, recent);
  const per = (at) => (now.seconds ? (now.sums[at] || 0) / now.seconds : 0);
  const [text, mood] = verdict(now, page.layers, live.top);
  say(id("verdict"), text);
  id("verdict").className = `verdict ${mood}`;
  say(id("f-allowed"), rate(per(2)));
  say(id("f-refused"), rate(per(3)));
  say(id("f-share"), per(3) > 0 ? percent(per(3), per(2) + per(3)) : "");
  say(id("f-failed"), rate(per(4)));
  say(id("f-flight"), count(live.in_flight));
  say(id("f-connections"), count(live.status.connections));
}

const windows = { day: "a day", month: "a month" };

function limitText(policy) {
  if (!policy) return "none: only where an override says so";
  if (policy.access !== "limited") return policy.access;
  if (policy.algorithm === "concurrency") return `${count(policy.limit)} at a time`;
  return `${count(policy.limit)} in ${windows[policy.calendar] || duration(policy.window_ms)}`;
}

function detail(layer) {
  const policy = layer.default;
  if (!policy || policy.access !== "limited") return "";
  const parts = [words(policy.algorithm)];
  if (policy.burst > 0 && policy.burst !== policy.limit) parts.push(`burst ${count(policy.burst)}`);
  if (policy.on_exceed !== "reject") parts.push(`on exceed ${policy.on_exceed}`);
  if (policy.scope === "instance") parts.push("this instance only");
  if (layer.priority > 0) parts.push(`first for ${layer.priority} API${layer.priority === 1 ? "" : "s"}`);
  if (policy.brief !== "local" || policy.long !== "local") parts.push(`store down: ${policy.brief}, then ${policy.long}`);
  return parts.join(" · ");
}

const over = (worst) => (worst.permits === null ? "no bound" : worst.permits === 0 ? "never over" : `≤${count(worst.permits)} over`);

// How the layer counts now and what that promises: [the line, what is behind it].
function promised({ promise, default: policy }) {
  if (!promise) return ["", ""];
  if (policy && policy.mode === "shadow") return ["not enforced: it refuses nobody", ""];
  const { now, brief, long, forgotten } = promise.overshoot;
  const ill = promise.ladder && promise.ladder !== "healthy";
  const line = `${words(promise.counted)}: ${over(now)}${brief && !ill ? ` · store ill: ${over(brief)}` : ""}`;
  const parts = [["now", now], ["store briefly ill", brief], ["store ill for long", long], ["store forgets", forgotten]];
  return [line, parts.filter(([, worst]) => worst).map(([when, worst]) => `${when}: ${over(worst)} (${worst.why})`).join("\n")];
}

function mode(policy) {
  if (!policy) return "";
  if (policy.mode === "shadow") return "shadow";
  return policy.enforce_percent < 100 ? `${policy.enforce_percent} % enforced` : "";
}

function makeRow() {
  const cell = (kind) => element("td", { class: kind });
  const name = element("th", { scope: "row" }, element("i", { class: "dot" }), element("b"), element("span", { class: "tag" }), element("small"));
  return element("tr", {}, name, element("td", {}, element("span"), element("small"), element("small", { class: "promise" })), cell("n"), cell("n"), cell("n wide"), cell("wide source"));
}

export function showChain(page, live) {
  const [now, lot] = [lately(page.points, recent), lately(page.points, 300e3)];
  id("no-chain").hidden = live.chain.length > 0;
  fill(id("chain"), live.chain, makeRow, (row, layer) => {
    const at = page.layers.indexOf(layer.layer);
    const [name, limit, refused, total, shadow, source] = row.children;
    const hits = now.sums[5 + at] || 0;
    name.children[0].style.background = layerColor(at);
    say(name.children[1], layer.layer);
    say(name.children[2], mode(layer.default));
    name.children[2].hidden = !mode(layer.default);
    say(name.children[3], `by ${layer.key.join(", ")}`);
    say(limit.children[0], limitText(layer.default));
    say(limit.children[1], detail(layer));
    title(limit.children[1], detail(layer));
    const [promise, behind] = promised(layer);
    say(limit.children[2], promise);
    title(limit.children[2], behind);
    say(refused, now.seconds ? `${rate(hits / now.seconds)}/s` : "–");
    row.classList.toggle("hit", hits > 0);
    say(total, count(lot.sums[5 + at] || 0));
    title(total, `${count(layer.final_hits)} since the start`);
    say(shadow, count(layer.shadow_denied));
    say(source, layer.default ? layer.default.source : "");
    title(source, layer.default ? layer.default.source : "");
  });
}
