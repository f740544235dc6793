// A canvas as wide as its place, drawn anew after a change of its inputs, its size or the colours.
import { useEffect, useRef } from 'preact/hooks';
import { colourOf, onColours } from '../ui/colour.js';

export interface Surface {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  /** A colour of the style sheet. */
  readonly colour: (name: string) => string;
}

interface Props {
  readonly label: string;
  /** The picture depends on these values alone. */
  readonly inputs: readonly unknown[];
  readonly draw: (surface: Surface) => void;
}

export function Canvas({ label, inputs, draw }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const newest = useRef(draw);
  newest.current = draw;
  const redraw = () => {
    const surface = canvas.current === null ? undefined : clearedSurface(canvas.current);
    if (surface !== undefined) newest.current(surface);
  };
  useEffect(redraw, [...inputs]);
  useEffect(() => {
    if (canvas.current === null) return;
    const resized = new ResizeObserver(redraw);
    resized.observe(canvas.current);
    const offColours = onColours(redraw);
    return () => {
      resized.disconnect();
      offColours();
    };
  }, []);
  return <canvas ref={canvas} role="img" aria-label={label} />;
}

/** Undefined if the canvas has no size. */
function clearedSurface(canvas: HTMLCanvasElement): Surface | undefined {
  const { clientWidth: width, clientHeight: height } = canvas;
  const context = canvas.getContext('2d');
  if (context === null || width === 0 || height === 0) return undefined;
  const scale = window.devicePixelRatio;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  context.scale(scale, scale);
  const colours = new Map<string, string>();
  const colour = (name: string) => {
    const known = colours.get(name) ?? colourOf(name);
    colours.set(name, known);
    return known;
  };
  return { context, width, height, colour };
}
