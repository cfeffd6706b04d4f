/** Addresses within the page: #/jobs?state=dead_letter. What one sees is in the address, to be sent to somebody. */

/** @returns {{path: string[], query: URLSearchParams}} */
export function here() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { path: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

/** The address of a place; parameters without a value are left out. */
export function link(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value);
  return `#/${path}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

/** Go there. */
export const go = (path, parameters) => (location.hash = link(path, parameters));

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
