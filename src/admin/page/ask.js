// SPDX-License-Identifier: Apache-2.0
// Requests to the admin port, with the token where one is wanted.

const patience = 5000;
const kept = "weir-token";

export const holdsToken = () => sessionStorage.getItem(kept) !== null;

export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

function askForToken(wrong) {
  const dialog = document.getElementById("token-dialog");
  const input = document.getElementById("token");
  if (wrong) document.getElementById("token-why").textContent = "That token was not accepted. It is the one of admin.token_file.";
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      sessionStorage.setItem(kept, input.value);
      input.value = "";
      resolve();
    }, { once: true });
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    if (!dialog.open) dialog.showModal();
  });
}

let asking = null;
function tokenOnce(wrong) {
  asking = asking || askForToken(wrong).finally(() => { asking = null; });
  return asking;
}

async function send(path, options) {
  const token = sessionStorage.getItem(kept);
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const answer = await fetch(path, { ...options, headers, cache: "no-store", signal: AbortSignal.timeout(patience) });
  if (answer.status !== 401) return answer;
  await tokenOnce(token !== null);
  return send(path, options);
}

async function document_of(answer) {
  const text = await answer.text();
  let read = null;
  try { read = JSON.parse(text); } catch { /* plain text says what is wrong */ }
  if (!answer.ok) throw new Refused(answer.status, (read && read.error) || text.trim() || `status ${answer.status}`);
  return read;
}

export const get = async (path) => document_of(await send(path, {}));
export const post = async (path, body) => document_of(await send(path, {
  method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
}));
