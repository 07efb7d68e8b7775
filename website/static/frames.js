// Moves an interactive figure's sliders between images that were drawn when the site was built.
for (const figure of document.querySelectorAll(".frames")) {
  const sliders = [...figure.querySelectorAll("input")];
  const images = [...figure.querySelectorAll("img")];
  const load = () => images.forEach((image) => (image.loading = "eager"));

  const show = () => {
    let place = 0;
    for (const slider of sliders) {
      place = place * (Number(slider.max) + 1) + Number(slider.value);
      const value = JSON.parse(slider.dataset.values)[slider.value];
      slider.setAttribute("aria-valuetext", value);
      slider.nextElementSibling.value = value;
    }
    images.forEach((image, other) => (image.hidden = other !== place));
    figure.dispatchEvent(new Event("frame", { bubbles: true }));
  };

  for (const slider of sliders) {
    slider.value = slider.defaultValue; // not what a browser kept from an earlier visit
    slider.addEventListener("input", show);
  }
  figure.addEventListener("pointerenter", load, { once: true });
  figure.addEventListener("focusin", load, { once: true });
  figure.querySelector(".frames-sliders").hidden = false;
}
