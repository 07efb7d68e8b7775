// On a narrow screen, shows the panels of a figure below each other in place of the whole figure.
const narrow = matchMedia("(max-width: 30rem)");

function stack(image) {
  const edges = [0, ...image.dataset.cuts.split(",").map(Number), 1];
  const panels = document.createElement("div");
  panels.className = "panels";
  panels.setAttribute("aria-hidden", "true"); // the image itself stays, for who cannot see it
  for (let i = 1; i < edges.length; i++) {
    const share = edges[i] - edges[i - 1];
    const panel = document.createElement("div");
    const part = document.createElement("img");
    part.src = image.src;
    part.alt = "";
    part.style.width = `${100 / share}%`;
    part.style.marginLeft = `${(-100 * edges[i - 1]) / share}%`;
    panel.append(part);
    panels.append(panel);
  }
  image.after(panels);
  image.classList.add("stacked");
}

function arrange(root) {
  for (const panels of root.querySelectorAll(".panels")) panels.remove();
  for (const image of root.querySelectorAll("img[data-cuts]")) {
    image.classList.remove("stacked");
    if (narrow.matches && !image.hidden) stack(image);
  }
}

arrange(document);
narrow.addEventListener("change", () => arrange(document));
document.addEventListener("frame", (event) => arrange(event.target));
