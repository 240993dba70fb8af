"use strict";
{
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const MOST_MATCHES = 60;

  // --- elements -----------------------------------------------------------------------------

  function make(tag, text, more = {}) {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    return Object.assign(element, more);
  }

  const link = (kind, number, text) => make("a", text, { href: `#${kind}-${number}` });
  const named = (kind, number) => link(kind, number, data[kind][number].name || "(unnamed)");

  function time(ms) {
    return ms >= 0.1 ? `${ms.toFixed(3)} ms` : `${(1e3 * ms).toFixed(2)} µs`;
  }

  function entry(list, title, ...parts) {
    const found = parts.flat().filter((part) => part !== "");
    if (!found.length) return;
    list.append(make("dt", title));
    for (const part of found) {
      const dd = make("dd");
      dd.append(part);
      list.append(dd);
    }
  }

  function listed(texts) {
    if (!texts.length) return "";
    const list = make("ul");
    for (const text of texts) {
      const item = make("li");
      item.append(text);
      list.append(item);
    }
    return list;
  }

  // --- details ------------------------------------------------------------------------------

  function stepLine(number) {
    const step = data.steps[number];
    const kernel = data.kernels.findIndex((one) => one.name === step.kernel);
    const line = make("span", `step ${number}: `);
    line.append(kernel < 0 ? step.kernel : link("kernel", kernel, step.kernel));
    if (step.ms !== null) {
      const bound = Math.max(step.arithmetic_ms, step.memory_ms);
      const near = step.ms ? `, ${Math.round((100 * bound) / step.ms)} % of its bound` : "";
      line.append(`, ${time(step.ms)}, bound by ${step.bound}${near}`);
    }
    const flops = step.flops === null ? "unknown" : step.flops.toLocaleString("en");
    line.append(`; ${flops} operations, ${step.bytes.toLocaleString("en")} bytes`);
    return line;
  }

  function resultLine(row) {
    const error = row.error === null ? "without measure" : row.error.toExponential(1);
    const ncnn = row.ncnn === null ? "" : `, of ncnn ${row.ncnn.toExponential(1)}`;
    const where = row.is_output ? " (as compiled for use)" : "";
    return `${row.blob}${where}: error ${error}${ncnn}, ${row.differs ? "differs" : "agrees"}`;
  }

  function fileLine(number) {
    const layer = data.file[number];
    const line = make("span");
    line.append(layer.line ? `line ${layer.line}: ` : "", named("file", number), " ");
    line.append(make("code", layer.source));
    return line;
  }

  const reason = (one) => `${one.by}: ${one.text}`;

  function layerDetails(kind, number) {
    const layer = data[kind][number];
    const now = kind === "now" ? layer : data.now[layer.became];
    const list = make("dl");
    const line = make("pre", layer.source);
    line.className = "line";
    entry(list, layer.line ? `line ${layer.line} of the file` : "", layer.source ? line : "");
    const blobs = layer.blobs.map((blob) => `${blob.name}: ${blob.type} ${blob.shape}`);
    entry(list, "makes", listed(blobs));
    entry(list, "reads what these make", listed(layer.reads.map((read) => named(kind, read))));
    const readers = data[kind].flatMap((one, at) => (one.reads.includes(number) ? [at] : []));
    entry(list, "is read by", listed(readers.map((at) => named(kind, at))));
    const adds = layer.multiply_adds === null ? "unknown" : layer.multiply_adds.toLocaleString("en");
    entry(list, "size", `${layer.weights.toLocaleString("en")} weights, ${adds} multiply-adds`);
    if (kind === "file" && data.now.length) {
      const became = layer.became === null ? "nothing of it is left" : named("now", layer.became);
      entry(list, `became (${layer.fate})`, became);
    }
    entry(list, "stands for layers of the file", listed(layer.made_of.map(fileLine)));
    entry(list, "rewrites", listed(layer.rewrites));
    if (now) {
      entry(list, "passes over layers that must not change it", listed(now.hindered.map(reason)));
    }
    const steps = layer.steps.length || !now ? layer.steps : now.steps;
    entry(list, "how it runs", listed(steps.map(stepLine)));
    if (now) entry(list, "passes over its linalg operations", listed(now.decided.map(reason)));
    const kernels = new Set(steps.map((step) => data.steps[step].kernel));
    for (const kernel of data.kernels.filter((one) => kernels.has(one.name))) {
      entry(list, `schedule of ${kernel.name}`, make("pre", kernel.schedule || "written as code"));
    }
    const names = new Set([layer.name, ...(kind === "now" ? layer.made_of.map((at) => data.file[at].name) : [])]);
    const rows = data.results.filter((row) => names.has(row.layer));
    entry(list, "results", listed(rows.map(resultLine)));
    return [make("h3", `${layer.type} ${layer.name}`), list];
  }

  function kernelDetails(number) {
    const kernel = data.kernels[number];
    const list = make("dl");
    const layers = kernel.layers.map((name) => {
      const at = data.now.findIndex((layer) => layer.name === name);
      return at < 0 ? name : named("now", at);
    });
    entry(list, "computes", listed(layers));
    entry(list, "schedule", make("pre", kernel.schedule || "written as code"));
    entry(list, "why", listed(kernel.why));
    entry(list, "runs as", listed(kernel.steps.map(stepLine)));
    return [make("h3", `kernel ${kernel.name}`), list];
  }

  // --- the graph ----------------------------------------------------------------------------

  const pictures = [...document.querySelectorAll("template.picture")];
  const chosen = { kind: null, number: null };
  let shown = null;
  let zoom = 1;

  const wantedGraph = () => document.querySelector("input[name=graph]:checked").value;

  function show(folded) {
    const ofGraph = pictures.filter((one) => one.dataset.graph === wantedGraph());
    const wanted = folded === null ? "first" : "folded";
    const value = folded === null || folded ? "yes" : "no";
    const next = ofGraph.find((one) => one.dataset[wanted] === value) || ofGraph[0];
    $("fold").checked = next.dataset.folded === "yes";
    $("fold").disabled = ofGraph.length === 1;
    if (next === shown) return;
    shown = next;
    $("graph").replaceChildren(next.content.cloneNode(true));
    scale(zoom);
    mark();
  }

  function scale(factor) {
    const svg = $("graph").querySelector("svg");
    if (!svg) return;
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    zoom = factor;
    svg.setAttribute("width", width * zoom);
    svg.setAttribute("height", height * zoom);
  }

  function mark() {
    const { kind, number } = chosen;
    let place = null;
    for (const node of $("graph").querySelectorAll(".node")) {
      const holds = node.dataset.layers.split(" ").map(Number);
      const is = kind === shown.dataset.graph && holds.includes(number);
      node.classList.toggle("chosen", is);
      node.classList.toggle("found", holds.some((one) => matching.has(one)));
      if (is) {
        place = node;
        node.setAttribute("aria-current", "true");
      } else {
        node.removeAttribute("aria-current");
      }
    }
    return place;
  }

  function choose(kind, number) {
    const details = $("details");
    if (kind === "kernel") {
      if (!data.kernels[number]) return;
      details.replaceChildren(...kernelDetails(number));
      details.scrollTop = 0;
      details.scrollIntoView({ block: "nearest" });
      return;
    }
    if (!data[kind] || !data[kind][number]) return;
    Object.assign(chosen, { kind, number });
    const radio = document.querySelector(`input[name=graph][value=${kind}]`);
    if (!radio.checked) {
      radio.checked = true;
      show($("fold").checked);
    }
    details.replaceChildren(...layerDetails(kind, number));
    details.scrollTop = 0;
    const node = mark();
    if (!node) return;
    const chain = node.dataset.layers.split(" ").map(Number);
    if (chain.length > 1) {
      const list = make("dl");
      entry(list, "its box in the graph holds", listed(chain.map((at) => named(kind, at))));
      details.append(list);
    }
    const box = node.getBoundingClientRect();
    const pane = $("graph").getBoundingClientRect();
    $("graph").scrollBy(
      box.left + box.width / 2 - pane.left - pane.width / 2,
      box.top + box.height / 2 - pane.top - pane.height / 2,
    );
    $("layers").scrollIntoView({ block: "nearest" });
  }

  function follow() {
    const found = /^#(file|now|kernel)-(\d+)$/.exec(location.hash);
    if (found) choose(found[1], Number(found[2]));
  }

  // --- search -------------------------------------------------------------------------------

  let matching = new Set();

  function search() {
    const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const kind = wantedGraph();
    const hits = !words.length
      ? []
      : data[kind].flatMap((layer, at) => {
          const text = `${layer.type} ${layer.name} ${layer.source} ${layer.fate}`.toLowerCase();
          return words.every((word) => text.includes(word)) ? [at] : [];
        });
    matching = new Set(hits);
    const more = hits.length > MOST_MATCHES ? `, of which ${MOST_MATCHES} are listed` : "";
    const counted = hits.length === 1 ? "1 layer" : `${hits.length} layers`;
    $("found").textContent = words.length ? `${counted} found${more}` : "";
    const items = hits.slice(0, MOST_MATCHES).map((at) => {
      const item = make("li");
      item.append(link(kind, at, `${data[kind][at].type} ${data[kind][at].name}`));
      return item;
    });
    $("matches").replaceChildren(...items);
    mark();
  }

  if (pictures.length) {
    show(null);
    document.querySelectorAll("input[name=graph]").forEach((radio) =>
      radio.addEventListener("change", () => {
        show(null);
        search();
      }),
    );
    $("fold").addEventListener("change", () => show($("fold").checked));
    $("closer").addEventListener("click", () => scale(zoom * 1.25));
    $("farther").addEventListener("click", () => scale(zoom / 1.25));
    $("fit").addEventListener("click", () => {
      const box = $("graph").querySelector("svg").getAttribute("viewBox").split(" ").map(Number);
      scale(Math.min(1, ($("graph").clientWidth - 8) / box[2], ($("graph").clientHeight - 8) / box[3]));
    });
    $("search").addEventListener("input", search);
    $("search").addEventListener("keydown", (event) => {
      const first = $("matches").querySelector("a");
      if (event.key === "Enter" && first) first.click();
    });
    window.addEventListener("hashchange", follow);
    // A link to what is chosen already changes no hash.
    document.addEventListener("click", (event) => {
      const to = event.target.closest && event.target.closest("a");
      const href = to && to.getAttribute("href");
      if (href && href === location.hash) follow();
    });
    follow();
  }

  // --- texts of marks -----------------------------------------------------------------------

  const tip = $("tip");

  function tell(mark, x, y) {
    tip.textContent = mark.getAttribute("aria-label");
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - width - 4))}px`;
    tip.style.top = `${Math.max(4, y + 16 + height > innerHeight ? y - height - 12 : y + 16)}px`;
  }

  const hush = () => (tip.hidden = true);

  // A chart is one stop of the tab key; arrows go from mark to mark in it.
  for (const chart of document.querySelectorAll(".chart")) {
    const marks = [...chart.querySelectorAll(".role-mark [role=graphics-symbol]")].filter(
      (mark) => mark.getAttribute("aria-label"),
    );
    const stops = marks.map((mark) => mark.closest("a") || mark);
    stops.forEach((stop, at) => {
      const mark = marks[at];
      stop.setAttribute("tabindex", at ? "-1" : "0");
      if (stop !== mark) stop.setAttribute("aria-label", mark.getAttribute("aria-label"));
      stop.addEventListener("mousemove", (event) => tell(mark, event.clientX, event.clientY));
      stop.addEventListener("mouseleave", hush);
      stop.addEventListener("blur", hush);
      stop.addEventListener("focus", () => {
        const box = mark.getBoundingClientRect();
        tell(mark, box.left + box.width / 2, box.bottom);
      });
      stop.addEventListener("keydown", (event) => {
        const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        const next = by && stops[at + by];
        if (event.key === "Escape") hush();
        if (!next) return;
        event.preventDefault();
        stop.setAttribute("tabindex", "-1");
        next.setAttribute("tabindex", "0");
        next.focus();
      });
    });
  }
}
