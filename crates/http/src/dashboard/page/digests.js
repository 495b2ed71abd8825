// The kinds of statements on which most time was spent, and a sample of each with its plan.
import { duration, el, keyed, micros, rate } from "./panels.js";

const SVG = "http://www.w3.org/2000/svg";
const ROWS = 30, BAR = 3, HEIGHT = 20;

const $ = (id) => document.getElementById(id);
const recent = (one) => one.trend.slice(-5).reduce((sum, us) => sum + us, 0);
const keyOf = (one) => `${one.database} ${one.digest}`;

// As it is, while it is short.
const whole = (value) => value < 1e5 ? String(value) : rate(value);

const time = (us) => us < 6e7 ? micros(us) : duration(us / 1e6);

function put(cell, text) {
  if (cell.textContent !== text) cell.textContent = text;
}

// `ask` asks the server; `failed` says why it does not answer.
export function showDigests(told, order, ask, failed) {
  const valueOf = (one) => order === "recent" ? recent(one) : one[order];
  const digests = [...told.digests].sort((a, b) => valueOf(b) - valueOf(a)).slice(0, ROWS);
  keyed(document.querySelector("#digests tbody"), digests, keyOf, (one) => digestRow(one, ask, failed), (row, one) => {
    row.digest = one;
    const [, count, all, average, p95, examined, errors, trend] = row.children;
    put(count, whole(one.count));
    put(all, time(one.sum_us));
    put(average, micros(one.avg_us));
    put(p95, micros(one.p95_us));
    put(examined, whole(one.rows_examined));
    put(errors, whole(one.errors));
    errors.classList.toggle("bad", one.errors > 0);
    drawTrend(trend, one, told.trend_minutes);
  });
  $("digests").parentElement.hidden = digests.length === 0;
  $("no-digests").hidden = digests.length > 0;
  $("digest-trend").textContent = `Last ${told.trend_minutes} minutes`;
  const missing = Object.entries(told.failures).map(([node, error]) => `node ${node}: ${error}`);
  put($("digests-count"), [`${digests.length} of ${told.total}`, ...missing].join("; "));
}

function digestRow(one, ask, failed) {
  const name = el("button", { type: "button", class: "plain kind", "aria-haspopup": "dialog" },
    el("code", {}, one.text), one.database ? el("span", { class: "badge" }, one.database) : null);
  const numbers = ["Count", "In all", "Average", "95 % below", "Rows examined", "Errors"];
  const row = el("tr", {}, el("td", {}, name), ...numbers.map((label) => el("td", { class: "number", "data-label": label })), el("td", { class: "trend" }));
  name.addEventListener("click", () => open(row.digest, ask, failed));
  return row;
}

// Time spent within each of the last minutes, the newest at the right.
function drawTrend(cell, one, minutes) {
  const most = Math.max(...one.trend, 1);
  const label = one.trend.length === 0 ? "no minute has passed yet" : `${time(one.trend.at(-1))} in the last minute, at most ${time(Math.max(...one.trend))}`;
  const shown = `${one.trend.join()} ${minutes}`;
  if (cell.dataset.shown === shown) return;
  cell.dataset.shown = shown;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${minutes * BAR} ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  const title = document.createElementNS(SVG, "title");
  title.textContent = label;
  svg.append(title);
  const start = minutes - one.trend.length;
  one.trend.forEach((us, place) => {
    const height = us > 0 ? Math.max(1, us / most * HEIGHT) : 0;
    const bar = document.createElementNS(SVG, "rect");
    for (const [name, value] of Object.entries({ x: (start + place) * BAR, y: HEIGHT - height, width: BAR - 1, height })) bar.setAttribute(name, value);
    svg.append(bar);
  });
  cell.replaceChildren(svg);
}

async function open(one, ask, failed) {
  $("digest-sample").textContent = one.text;
  $("digest-plan").textContent = "...";
  $("digest-facts").textContent = [
    `${whole(one.count)} times`, `${micros(one.avg_us)} on average`, `99 % below ${micros(one.p99_us)}`, `at most ${micros(one.max_us)}`,
    `${whole(one.rows_sent)} rows sent`, `${whole(one.full_scans)} scans of whole tables`, `last at ${new Date(one.last_seen_us / 1000).toLocaleString()}`,
  ].join(", ");
  $("digest").showModal();
  $("digest-close").focus();
  try {
    const { sample, plan, no_plan: why } = await ask("digest", { database: one.database, digest: one.digest });
    $("digest-sample").textContent = sample;
    $("digest-plan").textContent = plan ?? why;
  } catch (error) {
    $("digest").close();
    failed(error);
  }
}

$("digest-close").addEventListener("click", () => $("digest").close());
