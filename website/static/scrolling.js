// Marks what scrolls sideways on a narrow screen, and lets the keyboard reach it.
const boxes = ".cell_output .output, .table-wrapper, div.math, article p:has(> img)";
// A formula has its width only once it is set.
Promise.resolve(window.MathJax?.startup?.promise).then(() => {
  for (const box of document.querySelectorAll(boxes)) {
    const inner = box.querySelector("mjx-container[display]") ?? box;
    if (inner.scrollWidth > inner.clientWidth + 1) {
      inner.tabIndex = 0;
      box.classList.add("wide");
    }
  }
});
