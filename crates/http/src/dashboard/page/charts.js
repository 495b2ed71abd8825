// Lines over time, as SVG; each chart has its figures as a table too.
import { el, bytes, rate, micros, clock, duration } from "./panels.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 1000, HEIGHT = 200;
const TABLE_ROWS = 30;
const SHOWN_SECONDS_MIN = 120;
// Samples further apart have nothing between them.
const GAP_SECONDS = 20;

const whole = (value) => String(Math.round(value * 10) / 10);
const percent = (value) => `${Math.round(value)} %`;

// `least`: what the axis reaches in any case. How nodes are summed up: rates and sizes are added; of times the slowest counts; of free disk the fullest.
const CHARTS = [
  { title: "Statements per second", format: rate, least: 10, lines: [["reads", "reads"], ["writes", "writes"], ["others", "others"], ["errors", "errors"]] },
  { title: "Latency of reads", format: micros, least: 100, sum: "max", lines: [["half below", "read_p50_us"], ["95 % below", "read_p95_us"], ["99 % below", "read_p99_us"]] },
  { title: "Latency of writes", format: micros, least: 100, sum: "max", lines: [["half below", "write_p50_us"], ["95 % below", "write_p95_us"], ["99 % below", "write_p99_us"]] },
  { title: "Memory", format: bytes, lines: [["rows and indexes", "memory_used_bytes"], ["DataMemory", "memory_limit_bytes"], ["process", "resident_bytes"]] },
  { title: "Disk", format: percent, sum: "max", top: 100, lines: [["used", (at) => 100 - 100 * at("disk_free_bytes") / Math.max(1, at("disk_size_bytes"))], ["of it the log", (at) => 100 * at("log_disk_bytes") / Math.max(1, at("disk_size_bytes"))]] },
  { title: "Connections", format: whole, least: 4, lines: [["open", "connections"], ["at work", "running"], ["waiting for locks", "lock_waits"]] },
  { title: "Bytes per second", format: bytes, lines: [["to clients", "sent_bytes"], ["from clients", "received_bytes"], ["to the log", "log_bytes"]] },
  { title: "Processor cores in use", format: (value) => value.toFixed(2), least: 0.2, lines: [["cores", "cpu"]] },
];

// Samples of the chosen nodes, one for each interval, the oldest first: seconds since 1970 and a value for every line.
function combine(history, node, seconds, chart) {
  const buckets = new Map();
  for (const [id, told] of Object.entries(history)) {
    if (!told.rows || (node !== "all" && node !== id)) continue;
    const index = new Map(told.fields.map((name, place) => [name, place + 1]));
    for (const row of told.rows) {
      const at = Math.round(row[0] / told.every_s) * told.every_s;
      const field = (name) => row[index.get(name)] ?? 0;
      const values = chart.lines.map(([, what]) => typeof what === "function" ? what(field) : field(what));
      const known = buckets.get(at);
      buckets.set(at, known ? known.map((value, line) => chart.sum === "max" ? Math.max(value, values[line]) : value + values[line]) : values);
    }
  }
  const newest = Math.max(...buckets.keys());
  return [...buckets].filter(([at]) => at > newest - seconds).sort((a, b) => a[0] - b[0]);
}

// A round number that is not below the value, and has a round half; of bytes in the unit that they are shown in.
function ceiling(value, isBytes) {
  if (value <= 0) return isBytes ? 1024 : 2;
  const unit = isBytes ? 1024 ** Math.floor(Math.log(Math.max(value, 1)) / Math.log(1024)) : 1;
  const power = 10 ** Math.floor(Math.log10(value / unit)) * unit;
  return [2, 4, 6, 8, 10].map((step) => step * power).find((step) => step >= value);
}

class Chart {
  constructor(chart, place) {
    this.chart = chart;
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    this.svg.setAttribute("preserveAspectRatio", "none");
    this.svg.setAttribute("role", "img");
    for (const y of [0, HEIGHT / 2]) this.svg.append(line(0, y, WIDTH, y));
    this.cursor = line(0, 0, 0, HEIGHT);
    this.cursor.setAttribute("class", "cursor");
    this.cursor.setAttribute("visibility", "hidden");
    this.svg.append(this.cursor);
    this.paths = chart.lines.map((_, number) => {
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("class", `s${number}`);
      this.svg.append(path);
      return path;
    });
    this.axis = [el("span"), el("span"), el("span")];
    this.times = [el("span"), el("span")];
    this.values = chart.lines.map(() => el("b"));
    const key = (number) => {
      const svg = document.createElementNS(SVG, "svg");
      svg.setAttribute("viewBox", "0 0 26 8");
      svg.setAttribute("aria-hidden", "true");
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("d", "M0 4H26");
      path.setAttribute("class", `s${number}`);
      svg.append(path);
      return svg;
    };
    this.table = el("table");
    this.details = el("details", {}, el("summary", {}, "As a table"), el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${chart.title}, as a table` }, this.table));
    this.details.addEventListener("toggle", () => this.fillTable());
    place.append(el("figure", { class: "chart" },
      el("figcaption", {}, chart.title),
      el("div", { class: "plot" }, el("div", { class: "axis", "aria-hidden": "true" }, ...this.axis), this.svg, el("div", { class: "times", "aria-hidden": "true" }, ...this.times)),
      el("ul", { class: "legend" }, ...chart.lines.map(([name], number) => el("li", {}, key(number), `${name} `, this.values[number]))),
      this.details));
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.point(null));
    this.samples = [];
    this.pointed = null;
  }

  draw(samples, seconds) {
    const { chart } = this;
    this.samples = samples;
    const all = samples.flatMap(([, values]) => values);
    const top = chart.top ?? ceiling(Math.max(chart.least ?? 0, ...all), chart.format === bytes);
    const last = samples.at(-1)?.[0] ?? 0;
    // Of a server that has begun a short while ago there is less to show.
    seconds = Math.min(seconds, Math.max(SHOWN_SECONDS_MIN, last - (samples[0]?.[0] ?? 0)));
    this.first = last - seconds;
    this.seconds = seconds;
    const x = (at) => WIDTH * (at - this.first) / seconds;
    const y = (value) => HEIGHT - HEIGHT * Math.min(value, top) / top;
    this.paths.forEach((path, number) => {
      const points = samples.map(([at, values], place) => {
        const isGap = place === 0 || at - samples[place - 1][0] > GAP_SECONDS;
        return `${isGap ? "M" : "L"}${x(at).toFixed(1)} ${y(values[number]).toFixed(1)}${isGap ? "h.5" : ""}`;
      });
      path.setAttribute("d", points.join(""));
    });
    [top, top / 2, 0].forEach((value, place) => { this.axis[place].textContent = chart.format(value); });
    this.times[0].textContent = samples.length ? clock(this.first) : "";
    this.times[1].textContent = samples.length ? clock(last) : "no samples yet";
    this.showValues();
    const told = chart.lines.map(([name], number) => {
      const values = samples.map(([, values]) => values[number]);
      return values.length ? `${name} ${chart.format(values.at(-1))}, at most ${chart.format(Math.max(...values))}` : `${name} not known`;
    });
    this.svg.setAttribute("aria-label", `${chart.title} over the last ${duration(seconds)}: ${told.join("; ")}.`);
    this.fillTable();
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    this.pointed = null;
    if (event && this.samples.length) {
      const at = this.first + this.seconds * (event.clientX - box.left) / box.width;
      this.pointed = this.samples.reduce((best, one) => Math.abs(one[0] - at) < Math.abs(best[0] - at) ? one : best);
      const x = WIDTH * (this.pointed[0] - this.first) / this.seconds;
      this.cursor.setAttribute("x1", x);
      this.cursor.setAttribute("x2", x);
    }
    this.cursor.setAttribute("visibility", this.pointed ? "visible" : "hidden");
    this.showValues();
  }

  showValues() {
    const shown = this.pointed ?? this.samples.at(-1);
    this.values.forEach((value, number) => { value.textContent = shown ? this.chart.format(shown[1][number]) : "–"; });
    if (this.samples.length) this.times[1].textContent = clock(shown[0]);
  }

  fillTable() {
    if (!this.details.open) return;
    const step = Math.max(1, Math.ceil(this.samples.length / TABLE_ROWS));
    const rows = this.samples.filter((_, place) => (this.samples.length - 1 - place) % step === 0).reverse();
    this.table.replaceChildren(
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Time"), ...this.chart.lines.map(([name]) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, ...rows.map(([at, values]) => el("tr", {}, el("th", { scope: "row" }, clock(at)), ...values.map((value) => el("td", { class: "number" }, this.chart.format(value)))))));
  }
}

function line(x1, y1, x2, y2) {
  const made = document.createElementNS(SVG, "line");
  Object.entries({ x1, y1, x2, y2 }).forEach(([name, value]) => made.setAttribute(name, value));
  return made;
}

let charts = null;

export function drawCharts(place, history, node, seconds) {
  charts ??= CHARTS.map((chart) => new Chart(chart, place));
  for (const chart of charts) chart.draw(combine(history, node, seconds, chart.chart), seconds);
}
