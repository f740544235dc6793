// Prometheus metrics of a gateway. No label names a charger: their number is unbounded.
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { logMetrics } from '../metrics.js';

export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>;

/** The library's 10 ms take a twentieth of the processor time of a gateway with 1,000 chargers. */
const LOOKS_FOR_LAG_EVERY_MS = 100;

export function createGatewayMetrics(options: { readonly processMetrics: boolean }) {
  const registry = new Registry();
  const registers = [registry];
  if (options.processMetrics)
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOKS_FOR_LAG_EVERY_MS });
  return {
    registry,
    chargers: new Gauge({
      name: 'headroom_gateway_chargers',
      help: 'Chargers that are connected, by protocol.',
      labelNames: ['protocol'],
      registers,
    }),
    connectors: new Gauge({
      name: 'headroom_gateway_connectors',
      help: 'Connectors of connected chargers by lease: verified (heartbeat) or not (none).',
      labelNames: ['lease'],
      registers,
    }),
    provisioned: new Gauge({
      name: 'headroom_gateway_provisioned_chargers',
      help: 'Chargers of the provisioning file that may connect.',
      registers,
    }),
    fileRefused: new Gauge({
      name: 'headroom_gateway_file_refused',
      help: '1 while the provisioning file cannot be used and an earlier content is in force, else 0.',
      registers,
    }),
    connectorStates: new Gauge({
      name: 'headroom_gateway_connector_states',
      help: 'Connectors of all provisioned chargers by state: disconnected, booting, rejected (by the CSMS), configuring, installingFailsafe, provingLease, leased, unleased.',
      labelNames: ['state'],
      registers,
    }),
    logins: new Gauge({
      name: 'headroom_gateway_logins',
      help: 'Logins at the service: one for each connected charger with a password, and one for each gateway login in use.',
      registers,
    }),
    refusals: new Counter({
      name: 'headroom_gateway_refusals_total',
      help: 'Connections that were refused or closed, by reason.',
      labelNames: ['reason'],
      registers,
    }),
    messages: new Counter({
      name: 'headroom_gateway_messages_total',
      help: 'Calls of chargers, by result (accepted, malformed, unknown, limited).',
      labelNames: ['result'],
      registers,
    }),
    requests: new Counter({
      name: 'headroom_gateway_requests_total',
      help: 'Requests of the gateway to chargers, by kind and outcome (done, refused, failed).',
      labelNames: ['kind', 'result'],
      registers,
    }),
    csms: new Counter({
      name: 'headroom_gateway_csms_total',
      help: 'Calls of chargers to the CSMS behind the gateway, by result (forwarded, refused, unanswered), and attempts to reach it that failed (unreachable) or were cut off (limited).',
      labelNames: ['result'],
      registers,
    }),
    guarded: new Counter({
      name: 'headroom_gateway_guarded_total',
      help: 'Calls of the CSMS, by outcome: forwarded, or answered by the gateway.',
      labelNames: ['result'],
      registers,
    }),
    leasesLost: new Counter({
      name: 'headroom_gateway_leases_lost_total',
      help: 'Verified leases that lost their verification.',
      registers,
    }),
    ...logMetrics(registers),
  };
}
