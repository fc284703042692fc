// The pages work without this. It adds: copying, light and dark, local time, ages that go on, the key "/", what a chart
// shows at the pointer, and looking again without losing one's place.
const root = document.documentElement;
const chosen = localStorage.getItem("theme");
if (chosen) root.dataset.theme = chosen;

const is_dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  const address = "withAddress" in button.dataset ? `\n${location.href}` : "";
  try {
    await navigator.clipboard.writeText(source.textContent + address);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(source);
    button.textContent = "Selected: press Ctrl-C";
  }
}

function switch_theme() {
  root.dataset.theme = is_dark() ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}

// As the server writes durations (text/units.py): an age must not jump when the page begins to count.
const UNITS = [["d", 86400, "h", 3600], ["h", 3600, "min", 60], ["min", 60, "s", 1]];

function words(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  for (const [unit, unit_s, lesser, lesser_s] of UNITS) {
    const parts = unit_s / lesser_s, count = Math.round(s / lesser_s);
    const whole = Math.floor(count / parts), rest = count % parts;
    if (unit === "d" && whole >= 10) return `${Math.round(s / unit_s)} d`;
    if (whole) return rest ? `${whole} ${unit} ${rest} ${lesser}` : `${whole} ${unit}`;
  }
  return `${s} s`;
}

// The server's clock, so that a wrong clock here makes nothing younger.
let shown_at = performance.now();
const now_ms = () => Number(document.querySelector("[data-now-ms]").dataset.nowMs) + performance.now() - shown_at;

function tick() {
  for (const age of document.querySelectorAll("[data-age-of-ms]")) {
    const after = age.textContent.endsWith("ago") ? "ago" : "old";
    age.textContent = `${words(now_ms() - Number(age.dataset.ageOfMs))} ${after}`;
  }
}

const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short" };

function dress() {
  for (const button of document.querySelectorAll("button[data-copy], button[data-theme-switch]")) button.hidden = false;
  for (const time of document.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (!at.getTimezoneOffset()) continue;
    const clock = at.toLocaleTimeString([], { ...CLOCK, second: "2-digit" });
    const day = at.getDate() === at.getUTCDate() ? "" : `, ${at.toLocaleDateString([], { day: "numeric", month: "short" })}`;
    time.dataset.local = clock + day;
    time.title = at.toString();
  }
}

function broker_at(event, picture) {
  const box = picture.getBoundingClientRect(), { stride, columns, brokers } = picture.dataset;
  const unit = box.width / columns;
  const column = Math.floor((event.clientX - box.left) / unit), row = Math.floor((event.clientY - box.top) / unit / stride);
  return brokers.split(" ")[row * columns + column];
}

function point_at_broker(event, picture) {
  const broker = broker_at(event, picture);
  picture.parentElement.querySelector("[data-pointed]").textContent = broker ? `Broker ${broker}: click to see it.` : "";
}

function drawn(parent, tag, attributes) {
  const element = parent.querySelector(tag) ?? parent.appendChild(document.createElementNS("http://www.w3.org/2000/svg", tag));
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// The measured use that is nearest to the pointer, and when that was.
function read_chart(event, chart) {
  const pointed = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
  const points = [...chart.querySelectorAll("polyline.used")].flatMap(line => [...line.points]);
  if (!points.length) return;
  const { x, y } = points.reduce((best, one) => Math.abs(one.x - pointed.x) < Math.abs(best.x - pointed.x) ? one : best);
  const { fromMs, toMs, width, height } = chart.dataset;
  const at = new Date(Number(fromMs) + (toMs - fromMs) * x / width);
  const local = at.getTimezoneOffset() ? ` (${at.toLocaleTimeString([], CLOCK)})` : "";
  const is_right = x > width / 2, reading = drawn(chart, "g", { class: "reading", "aria-hidden": "true" });
  drawn(reading, "circle", { cx: x, cy: y, r: 4 });
  drawn(reading, "text", { x: x + (is_right ? -8 : 8), y: Math.max(14, y - 8), "text-anchor": is_right ? "end" : "start" }).textContent =
    `${(100 * (1 - y / height)).toFixed(1)} % at ${at.toISOString().slice(5, 16).replace("T", " ")}Z${local}`;
}

function is_busy() {
  const input = document.activeElement;
  return document.hidden || !getSelection().isCollapsed || (input?.name === "q" && input.value !== input.defaultValue)
    || [...document.querySelectorAll("form[method=post] input")].some(field => field.value !== field.defaultValue);
}

function find_again(element) {
  if (!element || element === document.body) return () => null;
  const path = [element.tagName.toLowerCase()];
  const same = () => [...document.querySelectorAll(path[0])].filter(one =>
    (one.getAttribute("href") ?? one.textContent) === (element.getAttribute("href") ?? element.textContent));
  const place = same().indexOf(element);
  return () => same()[place];
}

async function look_again() {
  if (is_busy()) return;
  const header = document.querySelector("body > header");
  let page;
  try {
    const answer = await fetch(location.href);
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    if (header.querySelector("[data-away]")) return;
    header.classList.add("loud");
    const away = header.appendChild(document.createElement("p"));
    away.dataset.away = "";
    away.setAttribute("role", "status");
    away.textContent = "THE CONSOLE DOES NOT ANSWER: this page is the past.";
    return;
  }
  if (!page.querySelector("body > main")) return location.reload();
  const focused = find_again(document.activeElement);
  const folds = new Map([...document.querySelectorAll("[data-fold]")].map(fold => [fold.dataset.fold, fold.open]));
  for (const part of ["header", "main"]) {
    document.querySelector(`body > ${part}`).replaceWith(page.querySelector(`body > ${part}`));
  }
  for (const fold of document.querySelectorAll("[data-fold]")) fold.open = folds.get(fold.dataset.fold) ?? fold.open;
  shown_at = performance.now();
  dress();
  focused()?.focus({ preventScroll: true });
}

addEventListener("click", event => {
  if (event.target.matches("button[data-copy]")) copy(event.target);
  if (event.target.matches("button[data-theme-switch]")) switch_theme();
  const picture = event.target.closest("svg[data-brokers]");
  const broker = picture && broker_at(event, picture);
  if (broker) location = `/?${new URLSearchParams({ cluster: picture.dataset.cluster, q: `broker:${broker}` })}`;
});

addEventListener("pointermove", event => {
  const picture = event.target.closest?.("svg[data-brokers]"), chart = event.target.closest?.("svg.chart");
  if (picture) point_at_broker(event, picture);
  if (chart) read_chart(event, chart);
});

addEventListener("keydown", event => {
  const filter = document.querySelector("[name=q]");
  if (event.key !== "/" || !filter || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea")) return;
  event.preventDefault();
  filter.focus();
  filter.select();
});

addEventListener("DOMContentLoaded", () => {
  dress();
  setInterval(tick, 1000);
  setInterval(look_again, Number(document.body.dataset.everyS) * 1000);
});
