// SPDX-License-Identifier: Apache-2.0
// What needs attention beside refusals, one sentence each, at the top: whoever is woken looks there first. Nothing is
// shown while all is well.
import { count, duration, element, fill, say } from "./format.js";

const id = (name) => document.getElementById(name);

function storeTrouble(live) {
  const health = (live.status.store || {}).health;
  if (health !== "brief" && health !== "long") return [];
  const since = (live.ladder || {}).failing_ms;
  const lasts = since > 0 ? ` for ${duration(since)}` : "";
  return [[health === "long" ? "bad" : "warn", `The shared store has not answered${lasts}: each layer does what its on_store_failure says (local: this instance counts alone).`]];
}

function upstreamTroubles(live) {
  return Object.entries(live.status.upstreams || {}).flatMap(([name, endpoints]) => {
    const states = Object.values(endpoints);
    const out = states.filter((state) => state !== "in_service").length;
    if (out === 0) return [];
    return [out === states.length ? ["bad", `No endpoint of upstream ${name} is in service.`] : ["warn", `${count(out)} of ${count(states.length)} endpoints of upstream ${name} ${out === 1 ? "is" : "are"} out of service.`]];
  });
}

function silentEndpoints(live) {
  return live.endpoints.filter((each) => each.requests > 0 && each.responses === 0)
    .map((each) => ["warn", `Endpoint ${each.endpoint} of upstream ${each.upstream} has answered none of ${count(each.requests)} requests.`]);
}

function configurationTroubles(live) {
  const { status } = live;
  const found = [];
  if (!status.last_reload_good) {
    const why = ((live.loads.find((load) => load.result === "rejected") || {}).notes || [])[0];
    found.push(["warn", `The configuration that was last loaded is rejected, the one before stays in force${why ? `: ${why}` : "."}`]);
  }
  if ((status.needs_restart || []).length) found.push(["warn", `In force only after a restart: ${status.needs_restart.join(", ")}.`]);
  return found;
}

export function troubles(live) {
  return [...storeTrouble(live), ...upstreamTroubles(live), ...silentEndpoints(live), ...configurationTroubles(live)]
    .sort(([a], [b]) => (a === b ? 0 : a === "bad" ? -1 : 1));
}

export function showTroubles(live) {
  const found = troubles(live);
  id("troubles").hidden = found.length === 0;
  fill(id("troubles"), found, () => element("li", {}, element("a", { href: "#behind" })), (item, [mood, text]) => {
    item.className = mood;
    say(item.firstElementChild, text);
  });
}
