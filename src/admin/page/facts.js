// SPDX-License-Identifier: Apache-2.0
// What stands behind the figures: store, upstreams, configuration, the instance itself. Shows what it is given;
// a figure it does not know is shown by its name.
import { count, dayTime, duration, element, facts, fill, say, title, words } from "./format.js";

const id = (name) => document.getElementById(name);
const bad = new Set(["long", "unhealthy", "rejected", "refused"]);
const poor = new Set(["brief", "ejected", "starting", "draining", "restart needed"]);

export function pill(node, text) {
  say(node, words(text));
  node.className = `pill ${bad.has(text) ? "bad" : poor.has(text) ? "warn" : text ? "good" : ""}`;
}

function value_text(name, value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return typeof value === "string" ? value : JSON.stringify(value);
  if (name.endsWith("_ms")) return duration(value);
  if (name.endsWith("_s")) return duration(value * 1000);
  return count(value);
}

const label = (name) => words(name.replace(/_m?s$/, ""));
const entries = (object, hidden) => Object.entries(object || {}).filter(([name, value]) => !hidden.includes(name) && value !== null).map(([name, value]) => [label(name), value_text(name, value)]);

function showStore(live) {
  const store = live.status.store || {};
  pill(id("store-state"), store.health || store.kind || "");
  const ladder = live.ladder || {};
  const trouble = Object.entries(ladder).filter(([name, value]) => value !== 0 && !(name in store));
  facts(id("store"), [...entries(store, ["health"]), ...entries(Object.fromEntries(trouble), [])]);
}

function showUpstreams(live) {
  const make = () => element("tr", {}, element("td", { class: "named" }, element("b"), element("span", { class: "pill" }), element("small")), element("td", { class: "n" }), element("td", { class: "n" }));
  id("no-upstreams").hidden = live.endpoints.length > 0;
  fill(id("upstreams"), live.endpoints, make, (row, endpoint) => {
    const state = ((live.status.upstreams || {})[endpoint.upstream] || {})[endpoint.endpoint] || "";
    const [named, flight, mean] = row.children;
    say(named.children[0], endpoint.endpoint);
    title(named.children[0], endpoint.endpoint);
    pill(named.children[1], typeof state === "string" ? state : state.state || "");
    named.children[1].hidden = !state;
    say(named.children[2], `${endpoint.upstream} · ${count(endpoint.requests)} requests · ${count(endpoint.connections)} connections`);
    say(flight, count(endpoint.outstanding));
    say(mean, endpoint.responses ? duration(endpoint.response_us_sum / endpoint.responses / 1000) : "–");
  });
}

function showConfiguration(live) {
  const { status } = live;
  const restart = status.needs_restart || [];
  pill(id("config-state"), !status.last_reload_good ? "rejected" : restart.length ? "restart needed" : "in force");
  const list = [["version", status.config_version], ["generation", count(status.generation)], ["in force for", duration(status.config_age_s * 1000)]];
  const quotas = status.quotas || {};
  if (quotas.version) list.push(["quotas", `${quotas.version} (${quotas.source})`]);
  if (quotas.published && quotas.published !== quotas.version) list.push(["published quotas", quotas.published]);
  if (restart.length) list.push(["needs a restart", restart.join(", ")]);
  if ((status.warnings || []).length) list.push(["warnings", status.warnings.join("; ")]);
  facts(id("config"), list);
  fill(id("loads"), live.loads, () => element("li", {}, element("time"), element("span", { class: "pill" }), element("code"), element("small")), (item, load) => {
    const [when, result, version, notes] = item.children;
    when.dateTime = new Date(load.wall_ms).toISOString();
    say(when, dayTime(load.wall_ms));
    pill(result, load.result);
    say(version, load.version);
    title(version, load.version);
    say(notes, load.notes.join("\n"));
    title(notes, load.notes.join("\n"));
  });
}

export function showFacts(live) {
  const { status } = live;
  showStore(live);
  showUpstreams(live);
  showConfiguration(live);
  facts(id("facts"), entries({ version: status.version, node: status.node, started: dayTime(live.started_ms), uptime_s: status.uptime_s, workers: status.workers, connections: status.connections, requests_in_flight: live.in_flight }, []));
}

export function showTop(live) {
  const { status } = live;
  say(id("node"), status.node);
  title(id("node"), status.node);
  document.title = `${status.node} · weir`;
  pill(id("state"), status.state);
  say(id("instance"), `${status.version} · up ${duration(status.uptime_s * 1000)} · ${count(status.workers)} workers · config ${status.config_version}`);
}
