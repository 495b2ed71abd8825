// Pieces of the page: each shows what it is given. Texts become text nodes, whatever is in them.

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit + 1 < units.length) { value /= 1024; unit += 1; }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

export function rate(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (value >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  return value >= 10 || value === 0 ? String(Math.round(value)) : value.toFixed(1);
}

export function micros(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)} s`;
  if (value >= 1e3) return `${(value / 1e3).toFixed(value >= 1e5 ? 0 : 1)} ms`;
  return `${Math.round(value)} µs`;
}

export function duration(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60 % 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor(seconds / 3600 % 24)} h`;
}

export const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { hour12: false });

// Rising numbers as "0-3 5".
export function ranges(numbers) {
  const runs = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last && last[1] + 1 === number) last[1] = number; else runs.push([number, number]);
  }
  return runs.map(([from, to]) => from === to ? `${from}` : `${from}-${to}`).join(" ");
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Children by keys: those that stay are changed in place, so that focus and selection stay too.
export function keyed(place, items, keyOf, make, change) {
  const known = new Map([...place.children].map((child) => [child.dataset.key, child]));
  let next = place.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    let child = known.get(key);
    if (!child) {
      child = make(item);
      child.dataset.key = key;
    }
    known.delete(key);
    change?.(child, item);
    if (child === next) next = next.nextElementSibling; else place.insertBefore(child, next);
  }
  for (const child of known.values()) child.remove();
}

export function showWarnings(warnings, isCluster) {
  const severity = { critical: "Critical", warning: "Warning", info: "Note" };
  const where = (one) => isCluster && one.node ? `node ${one.node}: ` : "";
  keyed(document.getElementById("warnings"), warnings, (one) => `${one.severity} ${where(one)}${one.text}`, (one) =>
    el("li", { "data-severity": one.severity }, el("strong", {}, `${severity[one.severity] ?? one.severity}: ${where(one)}${one.text}`), one.advice));
  document.getElementById("no-warnings").hidden = warnings.some((one) => one.severity !== "info");
}

const STATES = {
  STARTED: ["good", "started"], STARTING: ["warn", "starting"], NO_CONTACT: ["bad", "not connected"],
  UNKNOWN: ["bad", "does not answer"], SHUTTING_DOWN: ["warn", "stopping"], RESTARTING: ["warn", "restarting"],
};

export function showNodes(overview) {
  keyed(document.getElementById("nodes"), overview.nodes, (node) => node.id, () => el("article", { class: "node" }), (card, node) => {
    const fresh = nodeCard(node, overview);
    if (card.dataset.shown !== fresh.textContent) {
      card.dataset.shown = fresh.textContent;
      card.replaceChildren(...fresh.childNodes);
      card.setAttribute("aria-label", `Node ${node.id}`);
    }
  });
}

function nodeCard(node, overview) {
  const [kind, state] = STATES[node.state] ?? ["warn", node.state.toLowerCase()];
  const told = node.figures && !node.figures.error ? node.figures : null;
  const facts = [];
  const fact = (name, ...what) => facts.push(el("dt", {}, name), el("dd", {}, ...what));
  if (node.waits_for) fact("Waits for", node.waits_for);
  if (node.refused) fact("Refused", node.refused);
  if (told?.reason) fact("Not ready", told.reason);
  if (node.catch_up) {
    const { sent_bytes: sent, total_bytes: total, seconds_left: left, partitions } = node.catch_up;
    const label = `Copies of ${partitions} partitions: ${bytes(sent)} of ${bytes(total)}`;
    fact("Gets", el("progress", { max: Math.max(1, total), value: sent, "aria-label": label }), label + (left == null ? "" : `, ${duration(left)} left`));
  } else if (node.behind?.length) {
    fact("Catches up", `in partitions ${ranges(node.behind)}`);
  }
  if (node.leads?.length) fact("Leads", `${node.leads.length} of ${overview.partitions} partitions (${ranges(node.leads)})`);
  if (node.leads_dictionary && overview.cluster) fact("Leads", "the dictionary");
  if (told?.memory && node.roles.includes("data")) {
    const { used_bytes: used, limit_bytes: limit } = told.memory;
    fact("Memory", el("meter", { min: 0, max: Math.max(1, limit), low: limit * 0.85, high: limit * 0.95, optimum: 0, value: used, "aria-label": "DataMemory used" }), `${bytes(used)} of ${bytes(limit)}`);
  }
  if (told?.disk?.size_bytes) fact("Disk", `${bytes(told.disk.free_bytes)} free, log ${bytes(told.disk.log_bytes)}`);
  if (told?.activity && node.roles.includes("sql")) {
    const { connections, connections_limit: limit, running } = told.activity;
    fact("Clients", `${connections} of ${limit}, ${running} at work`);
  }
  if (told?.latest && node.roles.includes("sql")) fact("Per second", `${rate(told.latest.reads)} reads, ${rate(told.latest.writes)} writes`);
  if (node.mysql) fact("MySQL", node.mysql);
  else if (node.address) fact("Address", node.address);
  if (node.uptime_ms != null) fact("Up for", duration(Math.floor(node.uptime_ms / 60000) * 60 || Math.floor(node.uptime_ms / 1000)));
  if (node.figures?.error) fact("Page", node.figures.error);
  return el("div", {},
    el("header", {}, el("h3", {}, `Node ${node.id}`), el("span", { class: `badge ${kind}` }, state), ...node.roles.map((role) => el("span", { class: "badge" }, role))),
    el("dl", {}, ...facts));
}

export function showPartitions(overview) {
  const nodes = overview.nodes.filter((node) => node.figures?.partitions?.length || node.roles.some((role) => role !== "sql"));
  const place = document.getElementById("partitions");
  place.hidden = nodes.length < 2;
  if (place.hidden) return;
  const cells = new Map();
  const lags = new Map();
  for (const node of nodes) {
    for (const one of node.figures?.partitions ?? []) {
      cells.set(`${one.partition} ${node.id}`, one);
      if (one.serves) for (const replica of one.replicas) lags.set(`${one.partition} ${replica.node}`, replica);
    }
  }
  const partitions = [...new Set([...cells.keys(), ...lags.keys()].map((key) => Number(key.split(" ")[0])))].sort((a, b) => a - b);
  const cell = (partition, node) => {
    const one = cells.get(`${partition} ${node.id}`);
    const replica = lags.get(`${partition} ${node.id}`);
    if (!one && !replica) return el("td", {}, "");
    if (replica && !replica.is_active) return el("td", { class: "bad" }, "silent");
    if (one?.serves) return el("td", {}, el("strong", {}, "leader"));
    if (one?.is_witness || replica?.is_witness) return el("td", { class: "quiet" }, "witness");
    if (one && one.leader === null) return el("td", { class: "bad" }, "no leader");
    const lag = replica?.lag_entries ?? 0;
    return el("td", {}, lag > 0 ? `follows, lacks ${lag}` : "follows");
  };
  const dictionary = overview.partitions;
  document.getElementById("partition-table").replaceChildren(
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Partition"), ...nodes.map((node) => el("th", { scope: "col" }, `Node ${node.id}`)))),
    el("tbody", {}, ...partitions.map((partition) =>
      el("tr", {}, el("th", { scope: "row" }, partition === dictionary ? "dictionary" : String(partition)), ...nodes.map((node) => cell(partition, node))))));
}

// `told` by node; `viewer` says whose may be ended.
export function showStatements(told, showsIdle, isCluster, viewer, end) {
  const sessions = [];
  const byTransaction = new Map();
  const waits = [];
  let inSight = 0;
  const failed = [];
  for (const [node, one] of Object.entries(told)) {
    if (one.error) { failed.push(`node ${node}: ${one.error}`); continue; }
    inSight += one.sessions_in_sight;
    for (const session of one.sessions) {
      sessions.push({ ...session, node: Number(node) });
      if (session.transaction) byTransaction.set(session.transaction, sessions.at(-1));
    }
    waits.push(...one.waits);
  }
  const waiting = new Set(waits.map((wait) => wait.waiter));
  const shown = sessions.filter((session) => showsIdle || session.running || session.transaction);
  const name = (session) => isCluster ? `${session.node}:${session.id}` : `${session.id}`;
  const state = (session) => {
    if (session.transaction && waiting.has(session.transaction)) return "waits for a lock";
    if (session.running) return session.state || session.command;
    return session.transaction ? "idle, holds locks" : "idle";
  };
  keyed(document.querySelector("#statements tbody"), shown, (session) => `${session.node} ${session.id}`, (session) => statementRow(session, end), (row, session) => {
    row.session = session;
    const [connection, user, status, time, text, actions] = row.children;
    setText(connection, name(session));
    setText(user, `${session.user}@${session.host}${session.database ? ` in ${session.database}` : ""}`);
    setText(status, state(session));
    setText(time, duration(session.millis / 1000));
    setText(text.firstChild, session.text || "–");
    const may = viewer.kills_all || session.user === viewer.user;
    actions.firstChild.hidden = !may;
    actions.firstChild.firstChild.hidden = !session.running;
  });
  document.getElementById("no-statements").hidden = shown.length > 0;
  document.getElementById("statements").parentElement.hidden = shown.length === 0;
  document.getElementById("statements-count").textContent =
    [`${sessions.filter((one) => one.running).length} running, ${inSight} connection${inSight === 1 ? "" : "s"}${viewer.sees_all ? "" : " of yours"}`, ...failed].join("; ");
  const who = (id) => {
    const session = byTransaction.get(id);
    return session ? `connection ${name(session)} (${session.user}, ${state(session)} for ${duration(session.millis / 1000)})` : `transaction ${id}`;
  };
  document.getElementById("waits-box").hidden = waits.length === 0;
  keyed(document.getElementById("waits"), waits.sort((a, b) => b.millis - a.millis), (wait) => `${wait.waiter} ${wait.blockers}`, () => el("li"), (item, wait) =>
    setText(item, `${who(wait.waiter)} has waited ${duration(wait.millis / 1000)} for ${wait.blockers.map(who).join(" and ") || "somebody"}`));
}

function statementRow(session, end) {
  const label = `connection ${session.id} of node ${session.node}`;
  const row = el("tr", {}, el("td", { class: "number" }), el("td"), el("td"), el("td", { class: "number" }), el("td", {}, el("code")), el("td", {}, el("div", { class: "actions" },
    el("button", { type: "button", class: "plain", "aria-label": `End the statement of ${label}` }, "End statement"),
    el("button", { type: "button", class: "plain", "aria-label": `Disconnect ${label}` }, "Disconnect"))));
  const [statement, connection] = row.querySelectorAll("button");
  statement.addEventListener("click", () => end(row.session, true));
  connection.addEventListener("click", () => end(row.session, false));
  return row;
}

const SEVERITIES = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "ALERT"];

export function showLog(events, from) {
  const wanted = events.filter((event) => SEVERITIES.indexOf(event.severity) >= from).reverse();
  const repeats = new Map();
  keyed(document.getElementById("log"), wanted, (event) => {
    const key = `${event.at_us} ${event.node} ${event.text}`;
    repeats.set(key, (repeats.get(key) ?? 0) + 1);
    return `${key} ${repeats.get(key)}`;
  }, (event) =>
    el("li", {}, el("time", { class: "quiet" }, event.time), el("span", { class: event.severity.toLowerCase() }, event.severity.toLowerCase()), el("span", { class: "quiet" }, `node ${event.node}`), el("span", {}, event.text)));
  document.getElementById("no-log").hidden = wanted.length > 0;
  document.getElementById("no-log").textContent = "No such events.";
}
