// SPDX-License-Identifier: Apache-2.0
// Asks for the figures every two seconds while the page is seen, and says so when they are old.
import { get, holdsToken } from "./ask.js";
import { TrafficChart } from "./chart.js";
import { Explain } from "./explain.js";
import { showFacts, showTop } from "./facts.js";
import { duration, say, time } from "./format.js";
import { showChain, showHeadline } from "./headline.js";
import { Rankings } from "./rankings.js";
import { showTroubles } from "./troubles.js";

const every = 2000;
const staleAfter = 7000;
const keptPoints = 302;
const id = (name) => document.getElementById(name);

// What has been seen so far. points: as in GET /live, the newest last.
const page = { points: [], layers: [], startedMs: 0, seenAt: 0, wallMs: 0 };
const chart = new TrafficChart();
const explain = new Explain();
const rankings = new Rankings((kind, name) => explain.about(kind, name));

function take(live) {
  if (live.started_ms !== page.startedMs) page.points = [];
  page.startedMs = live.started_ms;
  page.layers = live.traffic.layers;
  page.points = page.points.concat(live.traffic.points).slice(-keptPoints);
  page.seenAt = performance.now();
  page.wallMs = live.now_ms;
}

function show(live) {
  showTop(live);
  showHeadline(page, live);
  showTroubles(live);
  chart.update(page.points, page.layers);
  showChain(page, live);
  rankings.update(page, live.top);
  explain.setHeaders(live.headers);
  showFacts(live);
  document.querySelector("footer").hidden = holdsToken(); // a plain link cannot carry it
  document.body.dataset.loaded = "yes";
}

function showAge(problem) {
  const age = performance.now() - page.seenAt;
  const stale = page.seenAt > 0 ? age > staleAfter : Boolean(problem);
  document.body.classList.toggle("stale", stale);
  id("stale").hidden = !stale;
  if (page.seenAt > 0) say(id("fresh"), `as of ${time(page.wallMs)}`);
  if (!stale) return;
  const since = page.seenAt > 0 ? `These figures are ${duration(age)} old, of ${time(page.wallMs)}.` : "There are no figures yet.";
  say(id("stale"), `The gateway does not answer${problem ? ` (${problem})` : ""}. ${since} Asking again every two seconds.`);
}

let problem = "";
async function turn() {
  const since = page.points.length ? page.points[page.points.length - 1][0] : 0;
  try {
    let live = await get(`/live?since=${since}`);
    if (page.startedMs && live.started_ms !== page.startedMs) live = await get("/live?since=0");
    take(live);
    problem = "";
    show(live);
  } catch (error) {
    problem = error.name === "TimeoutError" ? "no answer in 5 s" : error.name === "TypeError" ? "no connection" : error.message;
  }
  showAge(problem);
}

let wake = () => {};
document.addEventListener("visibilitychange", () => wake());

async function run() {
  for (;;) {
    if (document.visibilityState === "visible") await turn();
    await new Promise((resolve) => {
      wake = resolve;
      setTimeout(resolve, every);
    });
  }
}

setInterval(() => showAge(problem), 1000);
run();
