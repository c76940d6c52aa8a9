/** Answers that a saved document holds, by the address that the server would have given them at. */

const found = document.getElementById("stepscope-data");

async function decoded(value: unknown): Promise<ArrayBuffer> {
  if (typeof value === "object" && value !== null && "gzip" in value) {
    const text = atob(String((value as { gzip: string }).gzip));
    const packed = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  }
  return new TextEncoder().encode(JSON.stringify(value)).buffer as ArrayBuffer;
}

const all = found === null ? null : (JSON.parse(found.textContent ?? "{}") as Record<string, unknown>);

/** The answer at an address, or null where the document lacks it; null where there is a server to ask. */
export const embedded: ((path: string) => Promise<ArrayBuffer> | null) | null =
  all === null ? null : (path) => (Object.hasOwn(all, path) ? decoded(all[path]) : null);
