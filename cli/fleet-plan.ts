// Chooses the virtual chargers to run: the ones of a provisioning file, or a number of generated ones.
import {
  asId,
  type ConnectorId,
  type ControllerUuid,
  type LocationId,
  type TenantUuid,
} from '../machines/values/ids.js';
import type { FleetMember } from '../sim/charger/fleet.js';
import { OperatorError } from '../src/ports/operator-error.js';
import type { ProvisioningFile } from '../src/provisioning/provisioning-schema.js';

/** Flags of the command line about the chargers to run. */
export interface FleetWish {
  readonly count?: number;
  readonly tenant?: string;
  readonly location?: string;
  readonly username?: string;
  readonly password?: string;
}

/**
 * The chargers of `file`, with their logins. `tenant` and `location` filter them, and `count` limits their number.
 * @throws OperatorError if none remains, or one has no password in the file.
 */
export function membersOfFile({ tenants }: ProvisioningFile, wish: FleetWish): readonly FleetMember[] {
  const members = tenants.flatMap(({ tenantUuid, locations }) =>
    locations.flatMap(({ locationId, chargers }) =>
      chargers.map(({ controllerUuid, mqttPassword, timing, connectors }) => ({
        address: { tenantUuid, locationId, controllerUuid },
        username: `${tenantUuid}/${controllerUuid}`,
        password: wish.password ?? mqttPassword,
        timing,
        connectors,
      })),
    ),
  );
  const chosen = members
    .filter(({ address }) => wish.tenant === undefined || address.tenantUuid === wish.tenant)
    .filter(({ address }) => wish.location === undefined || address.locationId === wish.location);
  if (chosen.length === 0) throw new OperatorError('the file has no charger at that --tenant and --location');
  if (wish.count !== undefined && wish.count > chosen.length) {
    throw new OperatorError(`--count ${wish.count}: the file has only ${chosen.length} such chargers`);
  }
  const taken = chosen.slice(0, wish.count);
  const unknown = taken.find(({ password }) => password === undefined);
  if (unknown !== undefined) {
    const { controllerUuid } = unknown.address;
    throw new OperatorError(
      `charger ${controllerUuid} has no mqttPassword in the file; write it there, name the file that provision --write-secrets wrote, or give --password`,
    );
  }
  return taken;
}

function required<T extends TenantUuid | LocationId | ControllerUuid>(
  text: string | undefined,
  option: string,
): T {
  if (text === undefined) throw new OperatorError(`${option} is needed, or a provisioning file with --file`);
  const id = asId<T>(text);
  if (id === undefined)
    throw new OperatorError(`${option} "${text}": must be 1 to 128 characters of A-Z a-z 0-9 . _ : -`);
  return id;
}

/**
 * Chargers `virtual-1`, `virtual-2`, … of one location, with `connectors` of 22 kW each and one password. A single
 * charger takes the name in `--username TENANT/CONTROLLER`.
 */
export function madeUpMembers(wish: FleetWish & { readonly connectors: number }): readonly FleetMember[] {
  const tenantUuid = required<TenantUuid>(wish.tenant, '--tenant');
  const locationId = required<LocationId>(wish.location, '--location');
  const count = wish.count ?? 1;
  const named = count === 1 ? wish.username?.split('/')[1] : undefined;
  const connectors = Array.from({ length: wish.connectors }, (_, i) => ({
    connectorId: String(i + 1) as ConnectorId,
    ...({ phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 6 } as const),
  }));
  return Array.from({ length: count }, (_, i) => {
    const controllerUuid = required<ControllerUuid>(named ?? `virtual-${i + 1}`, '--username');
    return {
      address: { tenantUuid, locationId, controllerUuid },
      username: wish.username ?? `${tenantUuid}/${controllerUuid}`,
      password: wish.password,
      connectors,
    };
  });
}
