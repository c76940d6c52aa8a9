/** Words that the server says by name, which the page tells by `told`: catalogues have them from here. */

import { word } from "./t";

export const TONES = [word("error"), word("warning")];
export const SIDES = [word("base"), word("new")];
/** Parts of a step in comparisons, as `wordsOf` has them, and of the time of devices (`stepscope.web.tiles.track`). */
export const PARTS = [
  word("compute"), word("computing"), word("exposed communication"), word("exposed copy"), word("host"), word("idle"), word("idle: data wait"),
  word("idle: synchronisation"), word("idle: synchronisation, blocked"), word("idle: synchronisation, refill"), word("idle: allocation"),
  word("idle: host dispatch"), word("idle: host dispatch, op overhead"), word("idle: host dispatch, python"), word("idle: host dispatch, gc"),
  word("idle: host dispatch, runtime call"), word("idle: host dispatch, other"), word("idle: host dispatch, host work"),
  word("idle: host dispatch, first use"), word("idle: launch latency"), word("idle: launch latency, empty queue"), word("idle: launch latency, queued"),
  word("idle: dependency"), word("idle: dependency, event"), word("idle: dependency, other stream"), word("idle: profiler overhead"),
  word("idle: unknown"), word("idle: unknown, delayed start"), word("idle: unknown, launch not recorded"), word("idle: unknown, host not recorded"),
  word("idle: unknown, work not recorded"), word("not recorded"),
];
/** Parts of a critical path and their details (`stepscope.analyses.stepgraph.labels`). */
export const PATH = [
  word("kernel"), word("communication"), word("copy"), word("data"), word("launch"), word("synchronisation"), word("allocation"), word("dependency"),
  word("profiler"), word("unknown"), word("other"), word("gc"), word("runtime call"), word("operator"), word("python"), word("host not recorded"),
  word("latency"), word("handed to another thread"), word("between activities of a queue"), word("call"), word("start not explained"),
  word("waiting for other ranks"), word("moving data"),
];
/** Parts of a job that may be changed (`stepscope.web.changeable`). */
export const SUBJECTS = [
  word("compute kernels"), word("collectives"), word("copies and memsets"), word("all that the host does"), word("calls that launch device work"),
  word("the data loader"), word("garbage collection"), word("calls that get device memory from the driver or give it back"),
  word("work of the profiler"), word("waits of the host for the device"),
];
/** What is told of an event (`stepscope.web.tiles.events`). */
export const EVENTS = [
  word("arguments"), word("device work"), word("collective"), word("inputs"), word("counters of the device"), word("in the recording"),
  word("module"), word("graph"),
];
/** Sections and tracks of the timeline (`stepscope.web.tiles.listing`). */
export const TRACKS = [
  word("Steps"), word("steps"), word("Framework"), word("System"), word("Collectives"), word("Copies"), word("Counters"), word("Device"),
  word("device"), word("unnamed thread"), word("allocated"), word("reserved"),
];
/** Tables that the page itself makes. */
export const OWN_TABLES = [
  word("stages of the step"), word("allocator events"), word("events in view"), word("call frames"), word("devices in the range"),
];
/** By what allocations are summed up, and why a rank is slow. */
export const SUMS = [word("category"), word("line"), word("copies"), word("all")];
