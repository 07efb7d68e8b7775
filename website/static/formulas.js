// Keeps a formula on one line with what touches it, and marks a wide one. A browser may break the
// line on both sides of a formula, so a period or the name of a function would stand alone.
for (const formula of document.querySelectorAll("span.math")) {
  const { previousSibling: before, nextSibling: after } = formula;
  const head = before instanceof Text ? before.data.match(/[^\s–—]*$/)[0] : "";
  const tail = after instanceof Text ? after.data.match(/^[^\s–—-]*-?/)[0] : "";
  if (head || tail) {
    const together = document.createElement("span");
    together.className = "together";
    formula.before(together);
    together.append(head, formula, tail);
    if (head) before.data = before.data.slice(0, -head.length);
    if (tail) after.data = after.data.slice(tail.length);
  }
}

window.MathJax?.startup?.promise.then(() => {
  for (const formula of document.querySelectorAll('mjx-container[display="true"]')) {
    formula.parentElement.classList.toggle("wide", formula.scrollWidth > formula.clientWidth + 1);
  }
});
