// A connector's limit is at least its unconditional reserve, or its reason names the exception (R18).
import { describe, expect, it } from 'vitest';
import type { LimitReason } from '../../machines/ledger/grant.js';
import { type Connector, isControlled } from '../../machines/power/connector.js';
import { Fuses, NO_FUSES } from '../../machines/power/fuses.js';
import { seedsUpTo } from '../seeds.js';
import { Dice } from './agenda.js';
import { CALM, type ChargerTraits } from './hostile-charger.js';
import { SupervisorRig } from './supervisor-rig.js';

const AMPERE_W = 690;
const MINUTE_MS = 60_000;
/** By then, the other chargers have followed and every pause is over. */
const SETTLED_MS = 3 * MINUTE_MS;

/** Reasons for which a reachable connector has less for a while. */
const FOR_A_WHILE: ReadonlySet<LimitReason> = new Set(['minimumPause', 'waiting']);
/** Reasons for which no limit reaches a connector. */
const OUT_OF_REACH: ReadonlySet<LimitReason> = new Set(['failsafe', 'nonCompliant', 'readOnly']);

interface Site {
  readonly rig: SupervisorRig;
  readonly dice: Dice;
}

function siteOf(seed: number): Site {
  const dice = new Dice(seed);
  const count = 3 + dice.below(4);
  const chargers = Array.from(
    { length: count },
    (_, i): ChargerTraits => ({
      ...CALM,
      key: `quay/${i}`,
      failsafeTenthsA: dice.oneOf(60, 60, 100),
      keepsThen: dice.isOneIn(3),
      neverPause: dice.isOneIn(5),
    }),
  );
  const failsafesA = chargers.reduce((sum, { failsafeTenthsA }) => sum + failsafeTenthsA / 10, 0);
  const leastA = failsafesA + dice.oneOf(1, 4, 12);
  const fuseA = Math.ceil(leastA) + 4;
  const fuses = dice.isOneIn(2)
    ? NO_FUSES
    : new Fuses({ currentA: [fuseA, fuseA + 2, fuseA + 8], voltageV: 230 }, []);
  const rig = new SupervisorRig(seed, chargers, [1.1 * leastA * AMPERE_W], fuses);
  for (const { charger } of rig.places) charger.wantsTenthsA = dice.oneOf(320, 320, 90, undefined);
  return { rig, dice };
}

function connectorsOf({ site }: SupervisorRig): readonly Connector[] {
  return [...(site?.supervisor.connectors.values() ?? [])];
}

/** Connectors with a limit below their unconditional reserve. */
function heldBelow(rig: SupervisorRig): readonly Connector[] {
  return connectorsOf(rig).filter(({ granted: { sentTenthsA = 0 }, account }) => {
    const reservedTenthsA = account.alwaysReservedTenthsA;
    return reservedTenthsA >= account.leastTenthsA && sentTenthsA < reservedTenthsA;
  });
}

function happenOnce({ rig, dice }: Site): void {
  const place = dice.oneOf(...(rig.places as [(typeof rig.places)[number], ...typeof rig.places]));
  dice.oneOf(
    () => rig.lock(place, dice.oneOf(15, 22, 4)),
    () => rig.lock(place, undefined),
    () => {
      place.charger.wantsTenthsA = dice.oneOf(320, 60, undefined);
    },
    () => rig.restart(place),
    () => {
      place.up.mode = place.down.mode = place.up.mode === 'cut' ? 'open' : 'cut';
    },
  )();
}

describe('A connector with an unconditional reserve', () => {
  it('has at least that, with or without locks, or a reason against it', () => {
    let [besideLastResort, excused] = [0, 0];
    for (const seed of seedsUpTo(40)) {
      const site = siteOf(seed);
      const { rig } = site;
      for (let round = 0; round < 12; round++) {
        happenOnce(site);
        for (const untilMs = rig.agenda.nowMs + SETTLED_MS; rig.agenda.nowMs < untilMs; ) {
          rig.run(rig.agenda.nowMs + 5_000);
          for (const connector of heldBelow(rig)) {
            const reasons = isControlled(connector) ? FOR_A_WHILE : OUT_OF_REACH;
            expect(reasons, `seed ${seed}, ${connector.key}`).toContain(connector.decided.reason);
            excused++;
          }
        }
        expect(
          heldBelow(rig)
            .filter(isControlled)
            .map(({ key }) => key),
          `seed ${seed}`,
        ).toEqual([]);
        const connectors = connectorsOf(rig);
        if (connectors.some(({ decided: { reason } }) => reason === 'lastResort'))
          besideLastResort += connectors.filter(({ decided: { reason } }) => reason === 'reserved').length;
      }
    }
    expect(besideLastResort).toBeGreaterThan(20);
    expect(excused).toBeGreaterThan(20);
  });
});
