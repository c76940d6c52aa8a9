/** Pointer and wheel on a canvas of the timeline: select, move, zoom, click. */

import type { RefObject } from "preact";
import type { Board } from "./board";

/** A press that moves less than this is a click, px. */
const CLICK = 4;

export interface Pointers {
  onPointerDown: (event: PointerEvent) => void;
  onPointerMove: (event: PointerEvent) => void;
  onPointerUp: (event: PointerEvent) => void;
  onWheel: (event: WheelEvent) => void;
}

interface Drag {
  x: number;
  time: number;
  rank: number;
  moves: boolean;
  far: boolean;
}

export function dragging(
  board: Board,
  canvas: RefObject<HTMLCanvasElement | null>,
  rankAt: (y: number) => number,
  scrolled: () => number,
  click: (event: PointerEvent) => void,
): Pointers {
  const x = (event: MouseEvent): number => event.clientX - (canvas.current?.getBoundingClientRect().left ?? 0);
  const y = (event: MouseEvent): number => event.clientY - (canvas.current?.getBoundingClientRect().top ?? 0) + scrolled();
  return {
    onPointerDown(event) {
      if (event.button > 1) return;
      canvas.current?.setPointerCapture(event.pointerId);
      board.drag = { x: x(event), time: board.view.time(x(event)), rank: rankAt(y(event)), moves: event.shiftKey || event.button === 1, far: false };
    },
    onPointerMove(event) {
      board.pointer = x(event);
      const drag = board.drag as Drag | null;
      if (drag && event.buttons) {
        drag.far ||= Math.abs(x(event) - drag.x) >= CLICK;
        if (drag.far && drag.moves) {
          const by = drag.time - board.view.time(x(event));
          board.view.set(board.view.from + by, board.view.to + by);
        } else if (drag.far) {
          const to = board.view.time(x(event));
          board.range.value = { rank: drag.rank, from: Math.round(Math.min(drag.time, to)), to: Math.round(Math.max(drag.time, to)) };
        }
      }
      board.redraw();
    },
    onPointerUp(event) {
      const drag = board.drag as Drag | null;
      board.drag = null;
      if (!drag) return;
      if (!drag.far) click(event);
      else if (!drag.moves) {
        const to = board.view.time(x(event));
        board.select(drag.rank, Math.min(drag.time, to), Math.max(drag.time, to));
      }
    },
    onWheel(event) {
      // A pinch of a touchpad comes as a wheel with Ctrl.
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        board.view.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * (event.deltaMode ? 0.05 : 0.005)))), x(event));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        const by = event.deltaX || event.deltaY;
        board.view.pan((by * (event.deltaMode ? 20 : 1)) / board.view.width);
      } else return;
      board.redraw();
    },
  };
}
