// A component that is rendered again only after a change of one of its properties.
import { type ComponentChild, createElement, type FunctionComponent, type VNode } from 'preact';
import { useRef } from 'preact/hooks';

export function memo<Component extends (props: never) => ComponentChild>(component: Component): Component {
  // Preact skips a subtree if its element is the same object.
  function Memo(props: object) {
    const held = useRef<{ readonly props: object; readonly element: VNode } | undefined>(undefined);
    if (held.current === undefined || !areSame(held.current.props, props)) {
      held.current = {
        props,
        element: createElement(component as unknown as FunctionComponent<object>, props),
      };
    }
    return held.current.element;
  }
  return Memo as unknown as Component;
}

function areSame(a: object, b: object): boolean {
  const left = Object.entries(a);
  const right = new Map(Object.entries(b));
  return left.length === right.size && left.every(([name, value]) => right.get(name) === value);
}
