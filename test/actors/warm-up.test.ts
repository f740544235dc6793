// The warm-up of a standby node builds the actors from the rows, drops them and lets no effect out.
import { beforeEach, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { WarmUp } from '../../src/actors/warm-up.js';
import type { ProfileRecord } from '../../src/ports/records.js';
import { StoreUnavailableError } from '../../src/ports/store.js';
import { CRANE, HARBOUR, location, QUAY, ROWS } from './harbour.js';

const QUARTER_MS = 900_000;
const COULD_NOT = 'the warm-up of this node failed; trying again later';
const TIMING = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 5_000 };

describe('a rehearsal', () => {
  let clock: ReturnType<typeof createVirtualClock>;
  let readings: number;
  let warnings: string[];
  let rows: () => Promise<typeof ROWS>;
  let warmUp: WarmUp;
  beforeEach(() => {
    clock = createVirtualClock(0);
    readings = 0;
    warnings = [];
    rows = async () => ROWS;
    const note = (_fields: object, text: string) => void warnings.push(text);
    warmUp = new WarmUp({
      clock,
      log: { debug() {}, info() {}, warn: note, error: note },
      timing: TIMING,
      store: {
        loadCredentials: async () => ({
          tenants: [{ tenantUuid: HARBOUR, name: 'Harbour', features: [] }],
          credentials: [],
          mqttLogins: [],
        }),
        glanceAtTenant: () => {
          readings++;
          return rows();
        },
      },
    });
  });

  it('builds actors from the rows, and drops them when it ends', async () => {
    await warmUp.start();
    expect(warmUp.connectors).toBe(1);
    expect(warnings).toEqual([]);
    warmUp.end();
    expect(warmUp.connectors).toBe(0);
  });

  it('is repeated while the node stands by, and not after', async () => {
    await warmUp.start();
    const atFirst = readings;
    clock.advance(QUARTER_MS);
    await new Promise(setImmediate);
    expect(readings).toBe(2 * atFirst);
    warmUp.end();
    clock.advance(10 * QUARTER_MS);
    await new Promise(setImmediate);
    expect(readings).toBe(2 * atFirst);
  });

  it('builds nothing once the node runs, though its rows come after that', async () => {
    let give = (_rows: typeof ROWS) => {};
    rows = () =>
      new Promise((resolve) => {
        give = resolve;
      });
    const started = warmUp.start();
    await new Promise(setImmediate);
    warmUp.end();
    give(ROWS);
    await started;
    expect(warmUp.connectors).toBe(0);
    expect(readings).toBe(1);
  });

  it('reports unreadable rows, and tries again', async () => {
    rows = async () => {
      throw new StoreUnavailableError('the database is away');
    };
    await warmUp.start();
    expect(warnings).toEqual([COULD_NOT]);
    rows = async () => ROWS;
    clock.advance(QUARTER_MS);
    await new Promise(setImmediate);
    expect(warmUp.connectors).toBe(1);
  });

  it('reports rows from which nothing can be built', async () => {
    const poison = {
      ...ROWS.profiles[0],
      target: { kind: 'location', locationId: QUAY },
      get priority(): number {
        throw new Error('a defect');
      },
    } as ProfileRecord;
    rows = async () => ({ ...ROWS, profiles: [poison] });
    await warmUp.start();
    expect(warnings).toContain(COULD_NOT);
  });

  it('builds a thousand connectors of a larger tenant, in whole locations', async () => {
    const connectors = (site: string) =>
      Array.from({ length: 400 }, (_, i) => ({
        ...CRANE,
        controllerUuid: `${site}-${i}` as typeof CRANE.controllerUuid,
      }));
    const locations = ['a', 'b', 'c', 'd'].map((id) => location(id as typeof QUAY, connectors(id)));
    rows = async () => ({ ...ROWS, clusters: [], locations });
    await warmUp.start();
    expect(warmUp.connectors).toBe(1_200);
  });
});
