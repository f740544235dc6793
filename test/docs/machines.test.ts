// The page of the machines draws them as they are, and explains each state.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getStateNodes } from '@xstate/graph';
import { describe, expect, it } from 'vitest';
import { MACHINES } from '../mutants/mutants.js';
import { ROOT } from './document.js';
import { drawnIn, MACHINES_PAGE, redrawn } from './machine-drawings.js';

const page = readFileSync(join(ROOT, MACHINES_PAGE), 'utf8');

describe('The page of the machines', () => {
  it('draws every machine as in the code; `npm run machines:draw` updates the drawings', () => {
    expect(drawnIn(page).sort()).toEqual([...MACHINES.keys()].sort());
    expect(page).toBe(redrawn(page));
  });

  it('is updated if a drawing is out of date', () => {
    expect(redrawn(page.replace('active --> expired', 'active --> scheduled'))).toBe(page);
  });

  it('explains the purpose of every state', () => {
    const states = [...MACHINES.values()].flatMap((machine) =>
      [machine.root, ...getStateNodes(machine)].filter(({ states }) => Object.keys(states).length === 0),
    );
    const explained = [...page.matchAll(/^\| `([\w.]+)` \| [^|]{20,} \| [^|]{5,} \|$/gm)].map(([, id]) => id);
    expect(explained.sort()).toEqual(states.map(({ id }) => id).sort());
  });
});
