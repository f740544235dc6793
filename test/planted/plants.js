// Bugs to be planted on purpose, each one piece of text of one compiled file, and a seed that is known to catch it.

/**
 * @typedef {object} Plant
 * @property {string} name
 * @property {string} file below dist/
 * @property {string} text found exactly once in it
 * @property {string} bug what stands there instead
 * @property {number} seed
 * @property {string} invariant one of those that notice
 * @property {string} [scenario] of the library, where a hostile hour does not know what the bug is about
 */

/** @type {readonly Plant[]} */
export const PLANTS = [
  {
    name: 'sagging-voltage-makes-room',
    file: 'machines/power/connector-readings.js',
    text: 'Math.ceil(Math.max(spec.voltageV, Math.min(highestV, spec.voltageV * MOST_VOLTAGE)))',
    bug: 'Math.ceil(Math.min(highestV, spec.voltageV * MOST_VOLTAGE))',
    seed: 1,
    invariant: 'P1',
    scenario: 'weak-street.yaml',
  },
  {
    name: 'grant-on-send',
    file: 'machines/power/grant-ledger.js',
    text: 'entry.fallbacks.add(seq, thenTenthsA);',
    bug: 'entry.fallbacks.add(seq, thenTenthsA); entry.promises.acknowledge(seq, Number.NEGATIVE_INFINITY); entry.promises.release(Number.MIN_SAFE_INTEGER);',
    seed: 1,
    invariant: 'P2',
  },
  {
    name: 'no-settle',
    file: 'machines/power/promises.js',
    text: 'Math.min(promise.releasedAtMs, nowMs + this.#settleMs)',
    bug: 'Math.min(promise.releasedAtMs, nowMs)',
    seed: 1,
    invariant: 'P2',
  },
  {
    name: 'no-look-ahead',
    file: 'machines/power/budget.js',
    text: 'if (wattsOfLimit(ahead.limitKw) < lowestW)',
    bug: 'if (lowestW < 0)',
    seed: 6,
    invariant: 'P6',
  },
  {
    name: 'fail-safe-not-reserved',
    file: 'machines/power/grant-ledger.js',
    text: 'const entitledTenthsA = Math.max(entry.failsafeTenthsA, entry.promises.mostTenthsA);',
    bug: 'const entitledTenthsA = entry.promises.mostTenthsA;',
    seed: 1,
    invariant: 'P2',
  },
  {
    name: 'no-fence',
    file: 'sim/charger/grant-holder.js',
    text: 'return epoch > this.#fence.epoch || (epoch === this.#fence.epoch && seq > this.#fence.seq);',
    bug: 'return epoch >= 0 && seq >= 0;',
    seed: 1,
    invariant: 'P7',
  },
  {
    name: 'no-quarantine',
    file: 'machines/power/connector-control.js',
    text: 'const isWorstCase = control.compliance.isNonCompliant || isReadOnly(control);',
    bug: 'const isWorstCase = isReadOnly(control);',
    seed: 20,
    invariant: 'P2',
  },
  {
    name: 'lease-from-receipt',
    file: 'sim/charger/grant-holder.js',
    text: "if (lease === 'receipt')",
    bug: 'if (lease !== "none")',
    seed: 1,
    invariant: 'P7',
  },
  {
    name: 'no-boot-id',
    file: 'sim/charger/grant-holder.js',
    text: 'if (limit.boot !== this.#boot || !this.#isNewer(limit))',
    bug: 'if (!this.#isNewer(limit))',
    seed: 1,
    invariant: 'P7',
  },
  {
    name: 'no-drift-margin',
    file: 'machines/power/grant.js',
    text: 'const DRIFT = 1.02;',
    bug: 'const DRIFT = 1;',
    seed: 1,
    invariant: 'P1',
  },
  {
    name: 'end-exclusive-broken',
    file: 'machines/values/time.js',
    text: 'if (now >= window.endsAtMs)',
    bug: 'if (now > window.endsAtMs)',
    seed: 1,
    invariant: 'P5',
  },
  {
    name: 'lock-floor-broken',
    file: 'machines/power/connector-targets.js',
    text: 'const tenthsA = Math.min(tenthsWithin(shareW, holding.milliwattsPerTenth), holding.maxTenthsA);',
    bug: 'const tenthsA = isLastResort ? 0 : Math.min(tenthsWithin(shareW, holding.milliwattsPerTenth), holding.maxTenthsA);',
    seed: 4,
    invariant: 'P4',
  },
  {
    name: 'cluster-share-stale',
    file: 'machines/limits/cluster-shares.js',
    text: 'const shareW = Math.min(dueW, held.get(locationId) ?? reserved.lastingW());',
    bug: 'const shareW = held.get(locationId) ?? Math.min(dueW, reserved.lastingW());',
    seed: 4,
    invariant: 'P6',
  },
  {
    name: 'restart-forgets',
    file: 'machines/power/known-connectors.js',
    text: 'this.#restore(control, promised, nowMs);',
    bug: ';',
    seed: 2,
    invariant: 'P2',
  },
  {
    name: 'building-not-part-of-the-minimum',
    file: 'machines/limits/limit-in-force.js',
    text: 'parts.buildingLeavesKw ?? parts.connectionLimitKw',
    bug: 'parts.connectionLimitKw',
    seed: 1,
    invariant: 'P17',
    scenario: 'building.yaml',
  },
  {
    name: 'stale-meter-trusted',
    file: 'machines/limits/building-load.js',
    text: 'Math.max(MISSED_READINGS * this.cadenceMs, FADING_MS)',
    bug: 'Number.MAX_SAFE_INTEGER',
    seed: 1,
    invariant: 'P17',
    scenario: 'building.yaml',
  },
  {
    name: 'sign-of-the-meter-swapped',
    file: 'machines/limits/building-load.js',
    text: 'this.#watts.hear(powerW, watts',
    bug: 'this.#watts.hear(-powerW, watts',
    seed: 1,
    invariant: 'P17',
    scenario: 'building.yaml',
  },
  {
    name: 'duration-forgotten-at-restart',
    file: 'machines/limits/operator.machine.js',
    text: 'order: standing?.order,',
    bug: 'order: standing?.order && { ...standing.order, endsAtMs: undefined },',
    seed: 1,
    invariant: 'P18',
    scenario: 'operator-signals.yaml',
  },
  {
    name: 'rotation-ignored',
    file: 'machines/power/fuses.js',
    text: 'return place < 0 ? [0, 1, 2] : [place];',
    bug: 'return place < 0 ? [0, 1, 2] : [0];',
    seed: 7,
    invariant: 'P2',
  },
  {
    name: 'feeder-forgotten',
    file: 'machines/power/fuses.js',
    text: 'return (feeder == null ? undefined : this.#pathOf.get(feeder)) ?? this.#root;',
    bug: 'return feeder === "" ? [] : this.#root;',
    seed: 7,
    invariant: 'P2',
  },
  {
    name: 'dc-efficiency-ignored',
    file: 'machines/values/units.js',
    text: 'const fittingW = Math.floor((tenthsA * milliwatts * dc.efficiency) / 1000 + 1e-6);',
    bug: 'const fittingW = Math.floor((tenthsA * milliwatts) / 1000 + 1e-6);',
    seed: 7,
    invariant: 'P2',
  },
];
