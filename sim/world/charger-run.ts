// Keeps one virtual charger going in a world: wakes it when it has something to do, and carries what it says.
import { topicPrefixOf } from '../../src/wire/topics.js';
import { deliver } from '../charger/charger-inbox.js';
import type { VirtualCharger } from '../charger/virtual-charger.js';
import type { Agenda } from './agenda.js';
import { CALM, type Network, type Wire } from './network.js';

export interface ChargerRun {
  readonly charger: VirtualCharger;
  readonly wire: Wire;
  readonly isConnected: boolean;
  /** The link comes up, by itself or again: the charger says that it is there. */
  connect(): void;
  /** The link is gone, as long as nobody connects it; the broker may speak the last will. */
  disconnect(): void;
  reboot(boot: string): void;
  /** What it has to say is due now, whatever it planned. */
  wake(): void;
}

export function runCharger(options: {
  readonly charger: VirtualCharger;
  readonly agenda: Agenda;
  readonly network: Network;
  readonly monotonicMs: () => number;
  readonly wallMs: () => number;
  /** Its draw, limit or status may be another. */
  readonly onChange: (run: ChargerRun) => void;
}): ChargerRun {
  const { charger, agenda, network, monotonicMs, wallMs, onChange } = options;
  let isConnected = false;
  let plannedMs = Number.POSITIVE_INFINITY;

  function wake(): void {
    const nowMs = monotonicMs();
    charger.advance(nowMs);
    if (isConnected) for (const message of charger.takeMessages(nowMs, wallMs())) network.send(wire, message);
    onChange(run);
    plan(nowMs);
  }

  function plan(nowMs: number): void {
    let dueMs = Math.ceil(charger.nextDueMs(nowMs));
    // Unconnected, what it would say waits; what its cars do does not.
    if (dueMs <= nowMs) dueMs = nowMs + (isConnected ? 1 : 1_000);
    if (dueMs >= plannedMs && plannedMs > nowMs) return;
    plannedMs = dueMs;
    agenda.at(dueMs, () => {
      if (plannedMs !== dueMs) return;
      plannedMs = Number.POSITIVE_INFINITY;
      wake();
    });
  }

  const wire: Wire = {
    weather: CALM,
    isCutUp: false,
    isCutDown: false,
    receive(topic, payload) {
      if (isConnected && deliver(charger, topic, payload, monotonicMs())) wake();
    },
  };
  const run: ChargerRun = {
    charger,
    wire,
    get isConnected() {
      return isConnected;
    },
    connect() {
      isConnected = true;
      charger.connected(monotonicMs());
      wake();
    },
    disconnect() {
      isConnected = false;
    },
    reboot(boot) {
      charger.reboot(boot, monotonicMs());
      wake();
    },
    wake,
  };
  network.connect(topicPrefixOf(charger.address), wire);
  return run;
}
