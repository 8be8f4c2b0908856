// SPDX-License-Identifier: Apache-2.0
// Looks at the status page, or a report, in a real browser and prints what it saw as JSON; tests/integration/test_page_browser.py
// runs the gateway and judges.   node look.mjs STEP URL [more of the step]
// WEIR_BROWSER: the folder that holds node_modules; screenshots go to its folder `shots`.
import { createRequire } from "node:module";
import path from "node:path";

const home = process.env.WEIR_BROWSER;
const { chromium } = createRequire(path.join(home, "package.json"))("playwright-core");
const [step, url, ...rest] = process.argv.slice(2);
const shot = (name) => ({ path: path.join(home, "shots", `${name}.png`), fullPage: true });
const browser = await chromium.launch({ executablePath: process.env.WEIR_CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });

async function open(width, scheme, trouble) {
  const page = await browser.newPage({ viewport: { width, height: 850 }, colorScheme: scheme });
  page.on("console", (line) => { if (["error", "warning"].includes(line.type())) trouble.push(line.text()); });
  page.on("pageerror", (error) => trouble.push(error.message));
  page.on("dialog", (dialog) => { trouble.push(`alert: ${dialog.message()}`); dialog.dismiss(); });
  await page.addInitScript(() => {
    window.shifted = 0;
    new PerformanceObserver((list) => { for (const each of list.getEntries()) if (!each.hadRecentInput) window.shifted += each.value; })
      .observe({ type: "layout-shift", buffered: true });
  });
  await page.goto(url);
  return page;
}

const loaded = (page) => page.waitForSelector("body[data-loaded]");
const texts = (page, selector) => page.locator(selector).allTextContents();

// What is wider than its box and says its whole text nowhere else.
const cutOff = (page) => page.evaluate(() => [...document.querySelectorAll("th, td, b, dt, dd, button, label, h2, h3, .pill, .chip, small")]
  .filter((node) => node.offsetParent && node.scrollWidth > node.clientWidth + 1 && node.clientWidth > 0 && getComputedStyle(node).display !== "inline")
  .filter((node) => !node.title && !node.querySelector("[title]") && !node.closest(".unseen")).map((node) => node.outerHTML.slice(0, 120)));

// Every control that can be reached shows that it is focused.
async function unseenFocus(page) {
  const found = [];
  await page.evaluate(() => document.activeElement.blur());
  for (let n = 0; n < 60; ++n) {
    await page.keyboard.press("Tab");
    const bare = await page.evaluate(() => {
      const at = document.activeElement;
      if (at === document.body) return "";
      const shows = (node) => node && getComputedStyle(node).outlineStyle !== "none";
      return shows(at) || shows(at.nextElementSibling) ? "" : at.outerHTML.slice(0, 100);
    });
    if (bare) found.push(bare);
  }
  return found;
}

async function looks() {
  const views = [];
  for (const width of [400, 1280]) {
    for (const scheme of ["light", "dark"]) {
      const trouble = [];
      const page = await open(width, scheme, trouble);
      await loaded(page);
      await page.waitForTimeout(2500);
      await page.fill("[data-dimension=caller]", "acme");
      await page.fill("[data-dimension=user]", "u");
      await page.press("[data-dimension=user]", "Enter");
      await page.waitForSelector(".explained");
      await page.screenshot(shot(`page-${width}-${scheme}`));
      views.push({
        width, scheme, trouble, cutOff: await cutOff(page), unseenFocus: scheme === "light" ? await unseenFocus(page) : [],
        verdict: await page.textContent("#verdict"), chain: await texts(page, "#chain th b"), promises: await texts(page, "#chain .promise"),
        callers: await texts(page, "[data-kind=caller] button.name"), apis: await texts(page, "[data-kind=api] button.name"),
        explained: await texts(page, ".explained b"), scripts: await page.evaluate(() => document.scripts.length),
        overflow: await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
        shifted: await page.evaluate(() => window.shifted), ground: await page.evaluate(() => getComputedStyle(document.body).backgroundColor),
        unnamed: await page.evaluate(() => [...document.querySelectorAll("button, input, textarea, svg, meter")].filter((node) => node.offsetParent !== null || node.ownerSVGElement === null)
          .filter((node) => !(node.getAttribute("aria-label") || node.textContent.trim() || (node.labels && node.labels.length))).map((node) => node.outerHTML.slice(0, 100))),
      });
      await page.close();
    }
  }
  return views;
}

// By keyboard alone: explain, ask for the reset, keep; ask again, reset.
async function reset() {
  const trouble = [];
  const page = await open(400, "dark", trouble);
  await loaded(page);
  await page.locator("[data-dimension=caller]").focus();
  await page.keyboard.type(rest[0]);
  await page.keyboard.press("Enter");
  const button = page.getByRole("button", { name: `Reset the counter of layer ${rest[1]}` });
  await button.focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("#reset-dialog[open]");
  await page.screenshot(shot("reset-400"));
  const focused = await page.evaluate(() => document.activeElement.textContent);
  const facts = await page.textContent("#reset-facts");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#reset-dialog:not([open])", { state: "attached" });
  const kept = await page.locator(".done").count();
  await button.focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("#reset-dialog[open]");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".done");
  return { trouble, focused, facts, kept, done: await page.textContent(".done") };
}

// The gateway falls silent, and comes back.
async function stale() {
  const page = await open(1280, "light", []);
  await loaded(page);
  const before = await page.locator("#stale").isVisible();
  await page.context().setOffline(true);
  await page.waitForSelector("#stale:not([hidden])", { timeout: 20000 });
  const note = await page.textContent("#stale");
  await page.screenshot(shot("stale-1280"));
  await page.context().setOffline(false);
  await page.waitForSelector("#stale[hidden]", { state: "attached", timeout: 20000 });
  return { before, note };
}

async function token() {
  const trouble = [];
  const page = await open(400, "light", trouble);
  await page.waitForSelector("#token-dialog[open]");
  await page.screenshot(shot("token-400"));
  await page.keyboard.type("wrong");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("token-why").textContent.includes("not accepted"));
  await page.keyboard.type(rest[0]);
  await page.keyboard.press("Enter");
  await loaded(page);
  await page.reload();
  await loaded(page);
  return { open: await page.locator("#token-dialog").isVisible(), inLocal: await page.evaluate(() => localStorage.length), url: page.url() };
}

// Empty, and the moment a chart is walked through by keys.
async function walk() {
  const trouble = [];
  const page = await open(1280, "dark", trouble);
  await loaded(page);
  await page.waitForTimeout(4500);
  await page.locator("#chart-refused svg").focus();
  await page.keyboard.press("ArrowLeft");
  const readout = await page.textContent("#readout");
  await page.screenshot(shot("walk-1280"));
  return { trouble, readout, value: await page.getAttribute("#chart-refused svg", "aria-valuetext"), verdict: await page.textContent("#verdict") };
}

// The page that weir simulate writes.
async function report() {
  const views = [];
  for (const width of [400, 1280]) {
    for (const scheme of ["light", "dark"]) {
      const trouble = [];
      const page = await open(width, scheme, trouble);
      await page.screenshot(shot(`report-${width}-${scheme}`));
      views.push({
        width, scheme, trouble, cutOff: await cutOff(page), verdict: await page.textContent(".verdict"), first: await page.textContent("tbody tr"),
        shown: await page.locator("tbody tr").first().locator("td").evaluateAll((cells) => cells.filter((cell) => cell.getBoundingClientRect().right <= innerWidth).length),
        overflow: await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
      });
      await page.close();
    }
  }
  return views;
}

// What needs attention beside refusals.
async function troubles() {
  const trouble = [];
  const page = await open(400, "dark", trouble);
  await loaded(page);
  await page.screenshot(shot("troubles-400"));
  return { trouble, cutOff: await cutOff(page), shown: await texts(page, "#troubles:not([hidden]) li") };
}

try {
  console.log(JSON.stringify(await { looks, report, reset, stale, token, troubles, walk }[step]()));
} finally {
  await browser.close();
}
