// Lets a pointer or the arrow keys read the chart, bucket by bucket. All numbers
// come from the table below it, which is there without this script.
(() => {
  "use strict";
  const plot = document.querySelector("[data-plot]");
  const table = document.getElementById("numbers");
  if (!plot || !table || table.tBodies[0].rows.length === 0) return;

  const number = (cell) => (cell && cell.textContent !== "" ? Number(cell.textContent.replaceAll(",", "")) : null);
  const points = Array.from(table.tBodies[0].rows, (row) => ({
    name: row.cells[0].textContent, text: row.cells[1].textContent, value: number(row.cells[1]),
    beforeText: row.cells[2] ? row.cells[2].textContent : "", before: number(row.cells[2]),
  }));
  const { top, height, max, unit } = plot.dataset;
  const chart = plot.querySelector("svg");
  plot.querySelectorAll("[data-bands] title").forEach((title) => title.remove());
  plot.classList.add("live");

  const drawn = (name, classes, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    element.setAttribute("class", classes);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.setAttribute("visibility", "hidden");
    chart.append(element);
    return element;
  };
  const cursor = drawn("line", "cursor", { y1: top, y2: Number(top) + Number(height) });
  const earlier = drawn("circle", "dot earlier", { r: 4 });
  const dot = drawn("circle", "dot", { r: 5 });
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  const keys = document.createElement("input");
  Object.assign(keys, { type: "range", className: "keys", min: "0", max: String(points.length - 1), step: "1" });
  keys.value = String(points.length - 1);
  keys.setAttribute("aria-label", "Read the chart with the arrow keys");
  plot.append(keys, tip);

  const said = (p) => p.name + ": " + p.text + " " + unit + (p.beforeText ? ", before: " + p.beforeText : "");
  const place = (element, x, value) => {
    element.setAttribute("cx", x);
    element.setAttribute("cy", Number(top) + Number(height) * (1 - value / Number(max)));
    element.setAttribute("visibility", "visible");
  };
  const show = (i) => {
    const p = points[i];
    const share = (i + 0.5) / points.length;
    const x = (share * 100).toFixed(3) + "%";
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    cursor.setAttribute("visibility", "visible");
    place(dot, x, p.value);
    if (p.before !== null) place(earlier, x, p.before);
    else earlier.setAttribute("visibility", "hidden");
    const name = document.createElement("small");
    name.textContent = p.name;
    const value = document.createElement("b");
    value.textContent = p.text + " " + unit;
    tip.replaceChildren(name, value);
    if (p.beforeText) {
      const before = document.createElement("small");
      before.textContent = "before: " + p.beforeText;
      tip.append(before);
    }
    tip.hidden = false;
    const room = plot.clientWidth - tip.offsetWidth;
    const beside = share * plot.clientWidth + 12;
    tip.style.left = Math.max(0, beside <= room ? beside : share * plot.clientWidth - tip.offsetWidth - 12) + "px";
    keys.setAttribute("aria-valuetext", said(p));
  };
  const hide = () => {
    tip.hidden = true;
    for (const element of [cursor, earlier, dot]) element.setAttribute("visibility", "hidden");
  };
  const point = (event) => {
    const box = chart.getBoundingClientRect();
    const i = Math.floor(((event.clientX - box.left) / box.width) * points.length);
    keys.value = String(Math.min(points.length - 1, Math.max(0, i)));
    show(Number(keys.value));
  };
  keys.setAttribute("aria-valuetext", said(points[points.length - 1]));
  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerdown", point);
  plot.addEventListener("pointerleave", () => (document.activeElement === keys ? show(Number(keys.value)) : hide()));
  keys.addEventListener("input", () => show(Number(keys.value)));
  keys.addEventListener("focus", () => show(Number(keys.value)));
  keys.addEventListener("blur", hide);
  keys.addEventListener("keydown", (event) => event.key === "Escape" && hide());
})();
