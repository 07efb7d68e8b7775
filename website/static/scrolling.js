// Lets the keyboard reach what scrolls sideways on a narrow screen.
for (const box of document.querySelectorAll(".cell_output .output, .table-wrapper")) {
  if (box.scrollWidth > box.clientWidth) {
    box.tabIndex = 0;
  }
}
