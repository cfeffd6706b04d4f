/**
 * A view is a tree of plain objects, laid over the document in place: what did not change stays the same element, with
 * its focus, its selection, its scroll and what somebody typed into it. Texts become text nodes and nothing else.
 *
 * @typedef {{tag: string, props: Object<string, any>, children: (Tree|null)[]} | {text: string}} Tree
 */

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "line", "circle", "rect", "use"]);
const PROPERTIES = new Set(["value", "checked"]); // what somebody typed is in the property, not in the attribute
const OWN_ADDRESS = /^(#|\/(?![/\\]))/;

/** @type {WeakMap<Node, {id: string, tree: Tree, node: Node}[]>} */
const shown = new WeakMap();

/** One element; `key` in props names it among its siblings. Nothing (null, undefined, false) keeps its place. */
export function h(tag, props, ...children) {
  return { tag, props: props ?? {}, children: children.flat(Infinity).map(toTree) };
}

/** Make `parent` show these trees. */
export function draw(parent, ...trees) {
  if (!shown.has(parent)) parent.replaceChildren();
  const before = new Map((shown.get(parent) ?? []).map((one) => [one.id, one]));
  const now = [];
  trees.flat(Infinity).map(toTree).forEach((tree, at) => {
    if (tree === null) return;
    const id = `${tree.tag ?? ""}:${tree.props?.key ?? `at ${at}`}`;
    const old = before.get(id);
    before.delete(id);
    now.push({ id, tree, node: old ? update(old.node, old.tree, tree) : make(tree) });
  });
  for (const { node } of before.values()) node.remove();
  let place = parent.firstChild;
  for (const { node } of now) {
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
  }
  shown.set(parent, now);
}

function toTree(child) {
  if (child === null || child === undefined || child === false) return null;
  return typeof child === "object" ? child : { text: String(child) };
}

function make(tree) {
  if (tree.text !== undefined) return document.createTextNode(tree.text);
  const node = SVG_TAGS.has(tree.tag) ? document.createElementNS(SVG, tree.tag) : document.createElement(tree.tag);
  return update(node, { props: {}, children: [] }, tree);
}

function update(node, old, tree) {
  if (tree.text !== undefined) {
    if (old.text !== tree.text) node.data = tree.text;
    return node;
  }
  draw(node, tree.children); // before the properties: a select has no value without its options
  for (const name of Object.keys(old.props)) if (!(name in tree.props)) set(node, name, undefined);
  for (const [name, value] of Object.entries(tree.props)) if (old.props[name] !== value) set(node, name, value);
  return node;
}

function set(node, name, value) {
  if (name === "key") return;
  if (name.startsWith("on")) node[name] = value ?? null;
  else if (name === "style") for (const [what, how] of Object.entries(value ?? {})) node.style.setProperty(what, how);
  else if (PROPERTIES.has(name)) node[name] = value ?? "";
  else if (value === undefined || value === null || value === false) node.removeAttribute(name);
  else if ((name === "href" || name === "src") && !OWN_ADDRESS.test(value)) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? "" : String(value));
}
