// The page's life: login, asking again and again, and what the buttons do.
import { drawCharts } from "./charts.js";
import { showDigests } from "./digests.js";
import { duration, el, showLog, showNodes, showPartitions, showStatements, showWarnings } from "./panels.js";

const $ = (id) => document.getElementById(id);
const OVERVIEW_EVERY_MS = 5000, STATEMENTS_EVERY_MS = 2000, LOG_EVERY_MS = 10000, DIGESTS_EVERY_MS = 10000;
const HISTORY_SECONDS = 3600;

let viewer = null;
let overview = null;
let statements = null;
let events = null;
let digests = null;
let history = {};
let answered = 0;

class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function ask(path, body) {
  const options = { cache: "no-store", headers: { Accept: "application/json" } };
  if (body !== undefined) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const reply = await fetch(`/api/${path}`, options);
  const answer = await reply.json().catch(() => ({}));
  if (!reply.ok) throw new Refused(reply.status, answer.error ?? `the server answers ${reply.status}`);
  answered = Date.now();
  return answer;
}

function say(text) {
  if ($("status").textContent !== text) $("status").textContent = text;
}

// ---- login ----

function enter(who) {
  viewer = who;
  $("login").hidden = true;
  $("page").hidden = false;
  $("who").hidden = $("logout").hidden = false;
  const rights = who.kills_all ? "" : who.sees_all ? " (may look)" : " (own statements)";
  $("who").textContent = `${who.user}@${who.host}${rights}`;
  $("log-section").hidden = $("digests-section").hidden = !who.sees_all;
  for (const loop of loops) loop.now();
}

function leave(reason) {
  viewer = null;
  history = {};
  [overview, statements, events, digests] = [null, null, null, null];
  for (const id of ["warnings", "nodes", "waits", "log", "partition-table", "cluster-name", "fresh", "version"]) $(id).replaceChildren();
  for (const table of ["statements", "digests"]) document.querySelector(`#${table} tbody`).replaceChildren();
  for (const dialog of ["confirm", "digest"]) if ($(dialog).open) $(dialog).close();
  $("page").hidden = $("who").hidden = $("logout").hidden = true;
  $("login").hidden = false;
  $("login-error").textContent = reason;
  document.title = "Shoal";
  say("");
  $(reason ? "password" : "user").focus();
}

$("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.target.querySelector("button");
  button.disabled = true;
  $("login-error").textContent = "";
  try {
    const who = await ask("login", { user: $("user").value, password: $("password").value });
    $("password").value = "";
    enter(who);
    $("main").focus();
  } catch (error) {
    $("login-error").textContent = error.message;
    $("password").value = "";
    $("password").focus();
  } finally {
    button.disabled = false;
  }
});

$("logout").addEventListener("click", async () => {
  await ask("logout", {}).catch(() => {});
  leave("");
});

// ---- asking ----

// Asks again and again while somebody looks, and never twice at a time.
class Loop {
  constructor(everyMs, turn) {
    Object.assign(this, { everyMs, turn, timer: null, running: false });
  }

  now() {
    clearTimeout(this.timer);
    if (!this.running) this.run();
  }

  async run() {
    if (!viewer || document.hidden) return;
    this.running = true;
    try {
      await this.turn();
      say("");
    } catch (error) {
      this.failed(error);
    }
    this.running = false;
    this.timer = setTimeout(() => this.run(), this.everyMs);
  }

  failed(error) {
    if (error.status === 401) {
      if (viewer) leave("You have been logged out.");
    } else if (error.status) {
      say(error.message);
    } else if (viewer) {
      say(`This server does not answer; what is below is from ${new Date(answered).toLocaleTimeString([], { hour12: false })}.`);
    }
  }
}

const loops = [
  new Loop(OVERVIEW_EVERY_MS, async () => {
    const known = Object.keys(history).length > 0;
    const fresh = await ask("overview");
    const samples = await ask(`history?seconds=${known ? 60 : HISTORY_SECONDS}`);
    if (!viewer) return;
    overview = fresh;
    merge(samples.nodes);
    showOverview();
  }),
  new Loop(STATEMENTS_EVERY_MS, async () => {
    const fresh = await ask("statements");
    if (!viewer) return;
    statements = fresh.nodes;
    drawStatements();
  }),
  new Loop(LOG_EVERY_MS, async () => {
    if (!viewer.sees_all) return;
    const fresh = await ask("log");
    if (!viewer) return;
    events = fresh.events;
    drawLog();
  }),
  new Loop(DIGESTS_EVERY_MS, async () => {
    if (!viewer.sees_all) return;
    const fresh = await ask("digests");
    if (!viewer) return;
    digests = fresh;
    drawDigests();
  }),
];

document.addEventListener("visibilitychange", () => loops.forEach((loop) => loop.now()));

// New samples go behind those that are known; an hour of them is kept.
function merge(fresh) {
  for (const [node, told] of Object.entries(fresh)) {
    if (!told.rows) continue;
    const rows = history[node]?.rows ?? [];
    const last = rows.at(-1)?.[0] ?? 0;
    rows.push(...told.rows.filter((row) => row[0] > last));
    const newest = rows.at(-1)?.[0] ?? 0;
    history[node] = { ...told, rows: rows.filter((row) => row[0] > newest - HISTORY_SECONDS) };
  }
}

// ---- showing ----

const isCluster = () => Boolean(overview?.cluster);

function showOverview() {
  const name = overview.cluster ? `cluster ${overview.cluster}` : "on one node";
  $("cluster-name").textContent = name;
  const urgent = overview.warnings.filter((one) => one.severity !== "info").length;
  document.title = urgent ? `(${urgent}) Shoal` : "Shoal";
  $("fresh").textContent = overview.cluster ? `as node ${overview.asked_node} sees it` : "";
  $("version").textContent = `Shoal ${overview.nodes.find((node) => node.version)?.version ?? ""}`;
  showWarnings(overview.warnings, isCluster());
  showNodes(overview);
  showPartitions(overview);
  const chosen = $("chart-node").value || "all";
  const nodes = Object.keys(history);
  if ($("chart-node").dataset.nodes !== nodes.join()) {
    $("chart-node").dataset.nodes = nodes.join();
    $("chart-node").replaceChildren(el("option", { value: "all" }, "all"), ...nodes.map((node) => el("option", { value: node }, `node ${node}`)));
    $("chart-node").value = nodes.includes(chosen) ? chosen : "all";
    $("chart-node").parentElement.hidden = nodes.length < 2;
  }
  draw();
}

function draw() {
  drawCharts($("charts"), history, $("chart-node").value || "all", Number($("chart-range").value));
}

function drawStatements() {
  if (statements && viewer) showStatements(statements, $("show-idle").checked, isCluster(), viewer, end);
}

function drawDigests() {
  if (!digests) return;
  showDigests(digests, $("digest-order").value, ask, (error) => {
    if (error.status === 401) leave("You have been logged out."); else say(error.message);
  });
}

function drawLog() {
  if (events) showLog(events, Number($("log-severity").value));
  $("log-section").hidden = !events;
}

$("chart-node").addEventListener("change", draw);
$("chart-range").addEventListener("change", draw);
$("show-idle").addEventListener("change", drawStatements);
$("digest-order").addEventListener("change", drawDigests);
$("log-severity").addEventListener("change", drawLog);

// ---- ending statements ----

let toBeEnded = null;

function end(session, isQueryOnly) {
  toBeEnded = { node: session.node, id: session.id, query_only: isQueryOnly };
  $("confirm-title").textContent = isQueryOnly ? "End this statement?" : "Disconnect this client?";
  const what = isQueryOnly ? "The statement fails with error 1317; the connection stays." : "Its transaction is rolled back and the connection ends.";
  $("confirm-text").textContent = `Connection ${session.id} of ${session.user}@${session.host}, ${duration(session.millis / 1000)}. ${what}`;
  $("confirm-statement").textContent = session.text;
  $("confirm-statement").hidden = !session.text;
  $("confirm-yes").textContent = isQueryOnly ? "End the statement" : "Disconnect";
  $("confirm").showModal();
  $("confirm-no").focus();
}

$("confirm-no").addEventListener("click", () => $("confirm").close());
$("confirm-yes").addEventListener("click", async () => {
  $("confirm").close();
  try {
    await ask("kill", toBeEnded);
    loops[1].now();
  } catch (error) {
    if (error.status === 401) leave("You have been logged out."); else say(`Not ended: ${error.message}`);
  }
});

// ---- colours ----

const THEMES = [["", "as the system has them", "◐"], ["light", "light", "☀"], ["dark", "dark", "☾"]];

function storedTheme() {
  try { return localStorage.getItem("shoal-theme") ?? ""; } catch { return ""; }
}

function setTheme(name) {
  const [theme, words, sign] = THEMES.find(([known]) => known === name) ?? THEMES[0];
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  $("theme").textContent = sign;
  $("theme").setAttribute("aria-label", `Colours: ${words}`);
  $("theme").title = `Colours: ${words}`;
}

$("theme").addEventListener("click", () => {
  const next = (THEMES.findIndex(([name]) => name === storedTheme()) + 1) % THEMES.length;
  try { localStorage.setItem("shoal-theme", THEMES[next][0]); } catch { /* For this page alone, then. */ }
  setTheme(THEMES[next][0]);
});

setTheme(storedTheme());
ask("session").then(enter, (error) => leave(error.status && error.status !== 401 ? error.message : ""));
