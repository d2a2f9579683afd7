"use strict";
(() => {
  const { view } = JSON.parse(document.getElementById("data").textContent);
  const styleOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const boxes = new Map(view.boxes.map((box) => [box.id, { ...box, nodes: [] }]));
  const nodes = new Map(view.nodes.map((node) => [node.id, node]));
  for (const node of view.nodes) boxes.get(node.box).nodes.push(node);
  const opened = new Set(view.boxes.filter((box) => box.opened).map((box) => box.id));
  // Above some hundred boxes, neighbours are a group, which is drawn as one until it is opened.
  const groups = new Map();
  for (const box of view.boxes) {
    if (!box.group) continue;
    if (!groups.has(box.group)) groups.set(box.group, []);
    groups.get(box.group).push(box);
  }
  const openedGroups = new Set();
  const failed = document.getElementById("failed");
  const list = document.getElementById("list");
  const status = document.getElementById("found");

  // A closed box is one node; an open one holds its nodes.
  const boxShown = (id) => {
    const { group } = boxes.get(id);
    return group && !openedGroups.has(group) ? group : id;
  };
  const shownAs = (id) => {
    const { box } = nodes.get(id);
    return boxShown(box) === box && opened.has(box) ? id : boxShown(box);
  };
  const reveal = (box) => {
    if (boxes.get(box).group) openedGroups.add(boxes.get(box).group);
    opened.add(box);
  };
  const elements = () => {
    const made = [];
    for (const [id, members] of groups) {
      if (openedGroups.has(id)) continue;
      const changes = members.filter((box) => box.difference >= 0).length;
      const label = `${members.length} boxes, ${changes} ${changes === 1 ? "difference" : "differences"}`;
      made.push({ data: { id, label }, classes: `box group ${changes ? "changed" : "same"} closed` });
    }
    for (const box of boxes.values()) {
      if (boxShown(box.id) !== box.id) continue;
      const kind = box.difference >= 0 ? "changed" : "same";
      const open = opened.has(box.id);
      made.push({ data: { id: box.id, label: box.label }, classes: `box ${kind} ${open ? "open" : "closed"}` });
      if (open) {
        for (const node of box.nodes) {
          made.push({ data: { id: node.id, parent: box.id, label: node.label }, classes: `node ${node.status}` });
        }
      }
    }
    const seen = new Set();
    for (const [from, to, tensor, kind] of view.edges) {
      const source = shownAs(from), target = shownAs(to), key = `${source} ${target} ${kind}`;
      if (source === target || seen.has(key)) continue;
      seen.add(key);
      made.push({ data: { id: key, source, target, tensor }, classes: kind });
    }
    return made;
  };

  const colours = () => [
    { selector: "node", style: { label: "data(label)", color: styleOf("--ink"), "font-size": 11, shape: "round-rectangle",
      width: "label", height: 22, padding: 5, "text-valign": "center", "background-color": styleOf("--paper"),
      "border-width": 1.5, "border-color": styleOf("--kept") } },
    { selector: ".removed", style: { "border-color": styleOf("--removed"), "border-style": "dashed" } },
    { selector: ".added", style: { "border-color": styleOf("--added"), "border-width": 2.5 } },
    { selector: ".box.changed", style: { "border-color": styleOf("--mark"), "border-width": 2 } },
    { selector: ".box.open", style: { "text-valign": "top", "background-color": styleOf("--soft"), "font-size": 9,
      padding: 8, "border-width": 1, "border-style": "dotted" } },
    { selector: "edge", style: { width: 1.2, "curve-style": "bezier", "target-arrow-shape": "triangle",
      "arrow-scale": 0.7, "line-color": styleOf("--kept"), "target-arrow-color": styleOf("--kept") } },
    { selector: "edge.removed", style: { "line-color": styleOf("--removed"), "line-style": "dashed",
      "target-arrow-color": styleOf("--removed") } },
    { selector: ".chosen", style: { "border-color": styleOf("--mark"), "border-width": 4, "border-style": "solid" } },
  ];

  const graph = cytoscape({ container: document.getElementById("graph"), elements: [], style: colours(),
    wheelSensitivity: 0.3, minZoom: 0.02, maxZoom: 4, hideEdgesOnViewport: view.nodes.length > 1500 });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph.style(colours()));

  const draw = (focus) => {
    graph.elements().remove();
    failed.hidden = true;
    const made = elements();
    try {
      graph.add(made);
      graph.layout({ name: "dagre", rankDir: "TB", nodeSep: 18, rankSep: 28, animate: false, fit: !focus, padding: 20 }).run();
    } catch (error) {
      graph.elements().remove();
      failed.textContent = `The picture cannot be drawn with so much open (${error.message}): Close all draws it again. `
        + "The list says the same as text.";
      failed.hidden = false;
      if (focus) explain(focus);
      return;
    }
    if (focus) choose(focus);
    else start();
  };

  // A graph that is too large to be read as a whole is shown from its inputs on.
  const start = () => {
    if (graph.zoom() > 1.5) { graph.zoom(1.5); graph.center(); }
    if (graph.zoom() >= 0.5) return;
    graph.zoom(0.8);
    const whole = graph.elements().boundingBox();
    const top = graph.nodes().min((node) => node.position("y")).ele.position("x");
    graph.pan({ x: graph.width() / 2 - 0.8 * top, y: 20 - 0.8 * whole.y1 });
  };

  const explain = (id) => {
    const node = nodes.get(id);
    const number = boxes.get(node ? node.box : id).difference;
    for (const one of document.querySelectorAll(".chosen")) one.classList.remove("chosen");
    const entry = document.getElementById(`difference-${number}`);
    status.textContent = node ? node.text : "";
    if (!entry) return;
    entry.open = true;
    entry.classList.add("chosen");
    for (const line of entry.querySelectorAll("pre")) {
      if (node && line.dataset.text === node.text) line.classList.add("chosen");
    }
    list.scrollTop = entry.offsetTop - list.offsetTop;
  };

  const choose = (id) => {
    const shown = nodes.has(id) ? shownAs(id) : boxShown(id);
    graph.elements(".chosen").removeClass("chosen");
    const element = graph.getElementById(shown);
    element.addClass("chosen");
    if (graph.zoom() < 0.6) graph.zoom(1);
    graph.center(element);
    explain(id);
  };

  const toggle = (box) => {
    if (!opened.delete(box)) opened.add(box);
    draw(box);
  };
  graph.on("tap", "node", (event) => {
    const id = event.target.id();
    if (nodes.has(id)) choose(id);
    else if (groups.has(id)) {
      openedGroups.add(id);
      draw(groups.get(id)[0].id);
    } else toggle(id);
  });

  for (const entry of document.querySelectorAll("#list > details > summary")) {
    entry.addEventListener("click", () => {
      const number = Number(entry.parentElement.id.split("-")[1]);
      const box = view.boxes.find((one) => one.difference === number);
      if (box && !entry.parentElement.open) {
        graph.elements(".chosen").removeClass("chosen");
        const element = graph.getElementById(boxShown(box.id)).addClass("chosen");
        graph.animate({ center: { eles: element }, duration: 0 });
      }
    });
  }

  const search = document.getElementById("search");
  let hits = [], position = -1;
  const next = () => {
    if (!hits.length) return;
    position = (position + 1) % hits.length;
    const node = nodes.get(hits[position]);
    if (shownAs(node.id) !== node.id) { reveal(node.box); draw(node.id); } else choose(node.id);
    status.textContent = `${position + 1} of ${hits.length}: ${node.text}`;
  };
  search.addEventListener("input", () => {
    const wanted = search.value.toLowerCase();
    hits = !wanted ? [] : view.nodes.filter((node) =>
      node.name.toLowerCase().includes(wanted) || node.text.toLowerCase().includes(wanted)).map((node) => node.id);
    position = -1;
    status.textContent = wanted ? `${hits.length} found` : "";
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") next();
    if (event.key === "Escape") { search.value = ""; hits = []; status.textContent = ""; document.getElementById("graph").focus(); }
  });

  const setAll = (open) => {
    opened.clear();
    openedGroups.clear();
    if (open) for (const box of boxes.keys()) reveal(box);
    draw();
  };
  document.getElementById("open").addEventListener("click", () => setAll(true));
  document.getElementById("close").addEventListener("click", () => setAll(false));
  document.getElementById("fit").addEventListener("click", () => graph.fit(undefined, 20));
  document.addEventListener("keydown", (event) => {
    if (event.target === search || event.ctrlKey || event.metaKey || event.altKey) return;
    const move = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (event.key === "/") { event.preventDefault(); search.focus(); }
    else if (event.target.id !== "graph") return;
    else if (move) { event.preventDefault(); graph.panBy({ x: move[0], y: move[1] }); }
    else if (event.key === "+" || event.key === "=") graph.zoom(graph.zoom() * 1.3);
    else if (event.key === "-") graph.zoom(graph.zoom() / 1.3);
  });

  // What is folded is not printed: all differences open for that, and close again as they were.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("#list > details:not([open])")];
    for (const entry of folded) entry.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const entry of folded) entry.open = false;
    folded = [];
  });

  window.egraphOpt = { graph, choose, next, opened, openedGroups };
  draw();
})();
