// Lets the keyboard reach what scrolls sideways on a narrow screen.
const boxes = ".cell_output .output, .table-wrapper, article p:has(> img)";
for (const box of document.querySelectorAll(boxes)) {
  if (box.scrollWidth > box.clientWidth) {
    box.tabIndex = 0;
  }
}
