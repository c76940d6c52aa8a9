// Asks for the latest steps of a watched job twice a second, and shows them: a bar per step, of which the lower part
// is the wait for data.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const token = new URLSearchParams(location.search).get("token");
const place = (id) => document.getElementById(id);
// Patterns in the language of the page (texts.py), by name.
const texts = JSON.parse(place("texts").textContent);
const say = (name, values = {}) => texts[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);

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
  picture.setAttribute("aria-label", say("lengths", { count: rank.steps.length, name: rank.name }));
  rank.steps.forEach((step, at) => {
    const said = say("step", {
      number: step.number, length: duration(step.length_ns), wait: duration(step.wait_ns),
    });
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
  title.textContent = rank.lives ? rank.name : say("gone", rank);
  const facts = document.createElement("p");
  const last = rank.steps.at(-1);
  facts.textContent = [
    last
      ? say("took", { number: last.number.toLocaleString("en"), length: duration(last.length_ns) })
      : say("none"),
    say("usual", { length: duration(rank.usual_ns) }),
    say("waited", { share: ((100 * rank.wait_ns) / Math.max(rank.length_ns, 1)).toFixed(1) }),
    rank.device_bytes ? say("device", { size: size(rank.device_bytes) }) : "",
    rank.host_bytes ? say("process", { size: size(rank.host_bytes) }) : "",
  ].filter(Boolean).join(" · ");
  box.append(title, drawn(rank), facts);
  return box;
}

function listed(recording) {
  const line = document.createElement("li");
  line.textContent = say(recording.there ? "recording" : "removed", recording);
  return line;
}

async function look() {
  try {
    const answer = await fetch(`api/live?token=${encodeURIComponent(token ?? "")}`);
    const job = await answer.json();
    if (!answer.ok) throw new Error(job.error);
    place("job").textContent = job.folder;
    place("state").textContent = say(job.ranks.some((rank) => rank.lives) ? "running" : "stopped");
    place("ranks").replaceChildren(...job.ranks.map(shown));
    place("recordings").replaceChildren(...job.recordings.map(listed));
  } catch (error) {
    place("state").textContent = say("silent", { why: error.message });
  }
  document.querySelector("main").setAttribute("aria-busy", "false");
  setTimeout(look, 500);
}

look();
