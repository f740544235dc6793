// A running service for the dashboard's figures: many locations with meter values that change every second.
import type { ConnectorId } from '../../machines/values/ids.js';
import { systemClock } from '../../src/clock.js';
import type { Cancel } from '../../src/ports/clock.js';
import type { ChargerGateway, ConnectorMeter, TelemetryHandler } from '../../src/ports/telemetry.js';
import { Service } from '../../src/service.js';
import { API_KEY, controllerUuidOf, createSite, locationIdOf, provision, silentLog, TENANT } from './site.js';

export interface DashboardSite {
  readonly httpUrl: string;
  /** Number of streamed power events since the last call, counted by a separate client. */
  takeEvents(): number;
  stop(): Promise<void>;
}

const UPDATE_EVERY_MS = 1_000;
const BASE_W = 6_000;
const STEP_W = 10;
const STEPS = 100;

/**
 * A service with this many locations, and chargers of one connector each; each connector changes its power every
 * second.
 */
export async function runDashboardSite(locations: number, chargersEach: number): Promise<DashboardSite> {
  const site = createSite();
  const shape = { chargersEach, permanentLimitKw: 8 * chargersEach, gridLimitKw: 10 * chargersEach };
  await provision(site.config, locations, 1, shape);
  const held: { sink?: TelemetryHandler } = {};
  const service = new Service(site.config, { log: silentLog, createGateway: () => gatewayTo(held) });
  const { httpUrl } = await service.start();
  const meters = Array.from({ length: locations * chargersEach }, (_, n) => {
    const locationId = locationIdOf(Math.floor(n / chargersEach));
    return held.sink?.connectorMeter(TENANT, locationId, controllerUuidOf(n), '1' as ConnectorId);
  });
  const stopMeters = sendValues(meters);
  const listener = await countEvents(httpUrl);
  return {
    httpUrl,
    takeEvents: listener.take,
    async stop() {
      stopMeters();
      listener.stop();
      await service.stop();
      site.remove();
    },
  };
}

/** Limits are discarded, because no charger follows them here. */
function gatewayTo(held: { sink?: TelemetryHandler }): ChargerGateway {
  return {
    publishLimit: () => {},
    requestSync: () => {},
    async start(sink) {
      held.sink = sink;
      return { url: 'none' };
    },
    isHealthy: () => true,
    stop: async () => {},
  };
}

function sendValues(meters: readonly (ConnectorMeter | undefined)[]): Cancel {
  let hb = 0;
  let cancel: Cancel = () => {};
  const send = () => {
    hb++;
    const nowMs = systemClock.monotonicMs();
    const powerW = BASE_W + STEP_W * (hb % STEPS);
    for (const meter of meters) {
      meter?.record({ powerW, boot: 'bench', hb, status: 'Charging', epoch: 0, seq: 0 }, nowMs);
    }
    cancel = systemClock.after(UPDATE_EVERY_MS, send);
  };
  send();
  return () => cancel();
}

async function countEvents(httpUrl: string) {
  const closing = new AbortController();
  const response = await fetch(`${httpUrl}/v1/stream`, {
    headers: { 'x-api-key': API_KEY },
    signal: closing.signal,
  });
  let events = 0;
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) {
      events += decoder.decode(piece).split('event: power').length - 1;
    }
  };
  // An abort ends the request.
  read().catch(() => {});
  return {
    take() {
      const taken = events;
      events = 0;
      return taken;
    },
    stop: () => closing.abort(),
  };
}
