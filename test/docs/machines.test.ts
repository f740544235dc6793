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
  it('draws every machine as it is; `npm run machines:draw` draws them anew', () => {
    expect(drawnIn(page).sort()).toEqual([...MACHINES.keys()].sort());
    expect(page).toBe(redrawn(page));
  });

  it('notices a drawing that is of yesterday', () => {
    expect(redrawn(page.replace('active --> expired', 'active --> scheduled'))).toBe(page);
  });

  it('says of every state what it is for', () => {
    const states = [...MACHINES.values()].flatMap((machine) =>
      [machine.root, ...getStateNodes(machine)].filter(({ states }) => Object.keys(states).length === 0),
    );
    const explained = [...page.matchAll(/^\| `([\w.]+)` \| [^|]{20,} \| [^|]{5,} \|$/gm)].map(([, id]) => id);
    expect(explained.sort()).toEqual(states.map(({ id }) => id).sort());
  });
});
