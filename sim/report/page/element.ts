// Creates elements of the page. Text is always inserted as text, so that no name in a scenario can become markup.

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** An element with attributes (false and undefined leave one out) and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    made.setAttribute(name, value === true ? '' : String(value));
  }
  made.append(...children);
  return made;
}

/** Sets the text of an element only if it differs: unchanged text costs a browser nothing. */
export function say(target: HTMLElement, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}

/** A colour of the style sheet in the current scheme, light or dark. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/**
 * The cleared drawing context of a canvas that fills its element at the resolution of the screen. Undefined if the
 * canvas has no size.
 */
export function clearedContext(
  canvas: HTMLCanvasElement,
):
  | { readonly context: CanvasRenderingContext2D; readonly width: number; readonly height: number }
  | undefined {
  const { clientWidth: width, clientHeight: height } = canvas;
  const context = canvas.getContext('2d');
  if (context === null || width === 0 || height === 0) return undefined;
  const scale = window.devicePixelRatio;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  context.scale(scale, scale);
  return { context, width, height };
}
