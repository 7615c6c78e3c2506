// Making elements. Text is always text: nothing here, or anywhere on the page, reads markup.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

// Puts `made` in the place of what is there, unless it looks the same: a selection and the focus stay where they are.
export function settle(parent, made) {
  made.forEach((element, place) => {
    const present = parent.children[place];
    if (present === undefined) parent.append(element);
    else if (present !== element && !present.isEqualNode(element)) present.replaceWith(element);
  });
  while (parent.children.length > made.length) parent.lastElementChild.remove();
}
