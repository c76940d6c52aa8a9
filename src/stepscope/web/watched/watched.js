// Asks for the latest steps of a watched job twice a second, and shows them: a bar per step, of which the lower part
// is the wait for data.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const token = new URLSearchParams(location.search).get("token");
const place = (id) => document.getElementById(id);

const duration = (ns) =>
  ns < 1e6 ? `${(ns / 1e3).toFixed(0)} µs` : ns < 1e10 ? `${(ns / 1e6).toFixed(1)} ms` : `${(ns / 1e9).toFixed(1)} s`;
const size = (bytes) => `${(bytes / 2 ** 20).toLocaleString("en", { maximumFractionDigits: 0 })} MiB`;

function bar(x, y, height, kind, said) {
  const made = document.createElementNS(SVG, "rect");
  for (const [name, value] of Object.entries({ x, y, width: 0.9, height, class: kind })) made.setAttribute(name, value);
  const title = document.createElementNS(SVG, "title");
  title.textContent = said;
  made.append(title);
  return made;
}

function drawn(rank) {
  // A step that is very long is cut, so that the others stay visible.
  const top = Math.max(1, Math.min(4 * rank.usual_ns, Math.max(...rank.steps.map((step) => step.length_ns))));
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", `0 0 ${Math.max(rank.steps.length, 60)} 100`);
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", `lengths of the last ${rank.steps.length} steps of ${rank.name}`);
  rank.steps.forEach((step, at) => {
    const said = `step ${step.number}: ${duration(step.length_ns)}, of which ${duration(step.wait_ns)} for data`;
    const height = (ns) => Math.min(100, (100 * ns) / top);
    const kind = step.recorded ? "recorded" : "length";
    picture.append(bar(at, 100 - height(step.length_ns), height(step.length_ns), kind, said));
    picture.append(bar(at, 100 - height(step.wait_ns), height(step.wait_ns), "wait", said));
  });
  return picture;
}

function shown(rank) {
  const box = document.createElement("article");
  box.className = rank.lives ? "" : "gone";
  const title = document.createElement("h3");
  title.textContent = `${rank.name}${rank.lives ? "" : " (ended, or on another machine)"}`;
  const facts = document.createElement("p");
  const last = rank.steps.at(-1);
  facts.textContent = [
    last ? `step ${last.number.toLocaleString("en")} took ${duration(last.length_ns)}` : "no step yet",
    `${duration(rank.usual_ns)} are usual`,
    `${((100 * rank.wait_ns) / Math.max(rank.length_ns, 1)).toFixed(1)} % waited for data`,
    rank.device_bytes ? `${size(rank.device_bytes)} at most on the device` : "",
    rank.host_bytes ? `${size(rank.host_bytes)} in the process` : "",
  ].filter(Boolean).join(" · ");
  box.append(title, drawn(rank), facts);
  return box;
}

function listed(recording) {
  const line = document.createElement("li");
  line.textContent = `${recording.folder}: ${recording.reason}${recording.there ? "" : " (removed)"}`;
  return line;
}

async function look() {
  try {
    const answer = await fetch(`api/live?token=${encodeURIComponent(token ?? "")}`);
    const job = await answer.json();
    if (!answer.ok) throw new Error(job.error);
    place("job").textContent = job.folder;
    place("state").textContent = job.ranks.some((rank) => rank.lives) ? "running" : "no process runs on this machine";
    place("ranks").replaceChildren(...job.ranks.map(shown));
    place("recordings").replaceChildren(...job.recordings.map(listed));
  } catch (error) {
    place("state").textContent = `no answer: ${error.message}`;
  }
  document.querySelector("main").setAttribute("aria-busy", "false");
  setTimeout(look, 500);
}

look();
