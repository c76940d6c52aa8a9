/** Answers that a saved document holds, by the address that the server would have given them at. */

const found = document.getElementById("stepscope-data");

function decoded(value: unknown): ArrayBuffer {
  if (typeof value === "object" && value !== null && "base64" in value) {
    const text = atob(String((value as { base64: string }).base64));
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes.buffer;
  }
  return new TextEncoder().encode(JSON.stringify(value)).buffer as ArrayBuffer;
}

function answers(): ReadonlyMap<string, ArrayBuffer> | null {
  if (found === null) return null;
  const all = JSON.parse(found.textContent ?? "{}") as Record<string, unknown>;
  return {
    get: (path: string) => (path in all ? decoded(all[path]) : undefined),
    has: (path: string) => path in all,
  } as ReadonlyMap<string, ArrayBuffer>;
}

export const embedded = answers();
