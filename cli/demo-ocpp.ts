// The OCPP charger of the demo, which connects through a gateway as a real one would.
import { randomUUID } from 'node:crypto';
import type { FleetMember } from '../sim/charger/fleet.js';
import { OcppCharger } from '../sim/charger/ocpp-charger.js';
import { CROWDED } from '../sim/charger/traffic.js';
import { systemClock } from '../src/clock.js';
import { OcppGateway } from '../src/gateway/ocpp-gateway.js';
import { createLogger } from '../src/log.js';
import type { ProvisioningFile } from '../src/provisioning/provisioning-schema.js';

/** This charger has one connector; the virtual OCPP charger supports no more. */
const SPEAKS_OCPP = 'q1-d';
const OCPP_SEED = 4;

export function speaksOcpp({ address }: FleetMember): boolean {
  return address.controllerUuid === SPEAKS_OCPP;
}

export interface DemoGateway {
  readonly ocppUrl: string;
  stop(): Promise<void>;
}

/** A gateway on a free port, and `member` connected to it. */
export async function startDemoGateway(options: {
  readonly file: ProvisioningFile;
  readonly mqttUrl: string;
  readonly heartbeatS: number;
  readonly member: FleetMember;
}): Promise<DemoGateway> {
  const { file, mqttUrl, heartbeatS, member } = options;
  const gateway = new OcppGateway({
    file,
    mqttUrl,
    heartbeatS,
    host: '127.0.0.1',
    port: 0,
    metricsPort: undefined,
    mqttCa: undefined,
    tls: undefined,
    dataDir: undefined,
    idTags: undefined,
    newBoot: randomUUID,
    random: () => 0,
    clock: systemClock,
    log: createLogger({ level: 'error' }),
  });
  const { ocppUrl } = await gateway.start();
  const [connector] = member.connectors;
  const charger =
    connector === undefined
      ? undefined
      : new OcppCharger({
          url: ocppUrl,
          controllerUuid: member.address.controllerUuid,
          password: member.password ?? '',
          connector,
          seed: OCPP_SEED,
          traffic: CROWDED,
          clock: systemClock,
        });
  charger?.start();
  return {
    ocppUrl,
    async stop() {
      await charger?.stop();
      await gateway.stop();
    },
  };
}
