// Canvases that follow their box and the screen's resolution.
import { useEffect, useState, type DependencyList, type RefObject } from 'react';
import type { Pen } from '../model/map/draw';

export interface Size {
  width: number;
  height: number;
}

// Of the box, as it changes.
export function useBoxSize(box: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setSize({ width: entry!.contentRect.width, height: entry!.contentRect.height }));
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, [box]);
  return size;
}

// Drawn again, once a frame, when one of `changes` has. draw: the number of things drawn; null: there is nothing yet.
export function useDrawing(canvas: RefObject<HTMLCanvasElement | null>, size: Size, draw: ((pen: Pen) => number) | null, changes: DependencyList) {
  useEffect(() => {
    const element = canvas.current;
    if (!element || !draw || size.width === 0) return;
    const frame = requestAnimationFrame(() => {
      const ratio = window.devicePixelRatio || 1;
      element.width = Math.round(size.width * ratio);
      element.height = Math.round(size.height * ratio);
      const pen = element.getContext('2d') as unknown as Pen;
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, size.width, size.height);
      element.dataset.primitives = String(draw(pen));
    });
    return () => cancelAnimationFrame(frame);
  }, [canvas, size, ...changes]);
}
