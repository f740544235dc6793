// Keeps one virtual charger going in a world: wakes it when it has something to do, and puts what it says on its wire.
import type { ChargerMessage } from '../charger/charger-message.js';
import type { VirtualCharger } from '../charger/virtual-charger.js';
import type { Agenda } from './agenda.js';
import { Wire } from './wire.js';

export interface ChargerRun {
  readonly charger: VirtualCharger;
  readonly wire: Wire;
  readonly isConnected: boolean;
  /** The link comes up, by itself or again: the charger says that it is there. */
  connect(): void;
  /** The link is gone, as long as nobody connects it. */
  disconnect(): void;
  reboot(boot: string): void;
  /** What it has to say is due now, whatever it planned. */
  wake(): void;
}

export function runCharger(options: {
  readonly charger: VirtualCharger;
  readonly agenda: Agenda;
  readonly seed: number;
  readonly monotonicMs: () => number;
  readonly wallMs: () => number;
  /** It says this now. */
  readonly say: (run: ChargerRun, message: ChargerMessage) => void;
  /** Its draw, limit or status may be another. */
  readonly onChange: (run: ChargerRun) => void;
}): ChargerRun {
  const { charger, agenda, seed, monotonicMs, wallMs, say, onChange } = options;
  let plannedMs = Number.POSITIVE_INFINITY;

  function wake(): void {
    const nowMs = monotonicMs();
    if (wire.isUp) for (const message of charger.takeMessages(nowMs, wallMs())) say(run, message);
    else charger.advance(nowMs);
    onChange(run);
    plan(nowMs);
  }

  function plan(nowMs: number): void {
    let dueMs = Math.ceil(charger.nextDueMs(nowMs));
    // Unconnected, what it would say waits; what its cars do does not.
    if (dueMs <= nowMs) dueMs = nowMs + (wire.isUp ? 1 : 1_000);
    if (dueMs >= plannedMs && plannedMs > nowMs) return;
    plannedMs = dueMs;
    agenda.at(dueMs, () => {
      if (plannedMs !== dueMs) return;
      plannedMs = Number.POSITIVE_INFINITY;
      wake();
    });
  }

  const wire = new Wire({
    address: charger.address,
    agenda,
    monotonicMs,
    seed,
    receiver: {
      limit(connectorId, limit) {
        if (!charger.takesLimits) return;
        charger.receiveLimit(connectorId, limit, monotonicMs());
        wake();
      },
      sync() {
        if (!charger.takesLimits) return;
        charger.receiveSync(monotonicMs());
        wake();
      },
    },
  });
  const run: ChargerRun = {
    charger,
    wire,
    get isConnected() {
      return wire.isUp;
    },
    connect() {
      wire.isUp = true;
      charger.connected(monotonicMs());
      wake();
    },
    disconnect() {
      wire.isUp = false;
    },
    reboot(boot) {
      charger.reboot(boot, monotonicMs());
      wake();
    },
    wake,
  };
  return run;
}
