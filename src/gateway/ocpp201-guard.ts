// OCPP 2.0.1 and 2.1: guards a charger whose charging profiles carry leases against calls of a CSMS.
import {
  type ChangedVariable,
  changedVariablesSchema,
  changeVariablesSchema,
  clearProfileSchema,
  type Profile201,
  requestStartSchema,
  setProfileSchema,
  statusSchema,
  updateScheduleSchema,
  usePrioritySchema,
} from '../wire/ocpp201.js';
import { ignoresOffline } from './charger-requests.js';
import { type Guard, type Guarded, read, UnusableMessage } from './dialect.js';
import {
  clearSent,
  enoughMeasurands,
  type GuardParts,
  REJECTED,
  type SentProfile,
  soonEnough,
  startWithout,
  takeSent,
  topicToTell,
} from './kept-profile.js';
import { isOwnProfileId } from './own-profiles.js';

/** Never overrides a lease, like the purposes below: the charger applies the lower of both. */
const MAX = 'ChargingStationMaxProfile';
const BESIDE = [MAX, 'ChargingStationExternalConstraints'];

export class Ocpp201Guard implements Guard {
  readonly #parts: GuardParts;

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  judge(method: string, params: unknown): Guarded {
    switch (method) {
      case 'SetChargingProfile': {
        const { evseId, chargingProfile } = read(setProfileSchema, params);
        return takeSent(this.#parts, params, sentOf(chargingProfile, evseId), BESIDE);
      }
      case 'ClearChargingProfile': {
        const asked = read(clearProfileSchema, params);
        const { chargingProfileId: id, chargingProfileCriteria: by = {} } = asked;
        const { evseId: evse, chargingProfilePurpose: purpose, stackLevel } = by;
        const maxOnly = { ...asked, chargingProfileCriteria: { ...by, chargingProfilePurpose: MAX } };
        return clearSent(this.#parts, { params, maxOnly }, { id, evse, purpose, stackLevel });
      }
      case 'UsePriorityCharging': {
        // A priority profile would override every lease.
        const { activate } = read(usePrioritySchema, params);
        return activate ? REJECTED : { kind: 'forward', params };
      }
      case 'UpdateDynamicSchedule': {
        const { chargingProfileId } = read(updateScheduleSchema, params);
        return isOwnProfileId(chargingProfileId) ? REJECTED : { kind: 'forward', params };
      }
      case 'RequestStartTransaction': {
        const { chargingProfile, ...start } = read(requestStartSchema, params);
        const sent = chargingProfile && sentOf(chargingProfile, start.evseId ?? 0);
        return startWithout(sent, start, this.#parts);
      }
      case 'SetVariables':
        return this.#configure(params);
      default:
        return { kind: 'forward', params };
    }
  }

  mustReachCsms(method: string): boolean {
    return method === 'TransactionEvent' || method === 'Authorize';
  }

  topicOf(method: string, params: unknown): string | undefined {
    return topicToTell(method, () => statusSchema.safeParse(params).data?.evseId);
  }

  /** The charger must go on reporting as its lease needs, and must keep the lease offline. */
  #configure(params: unknown): Guarded {
    const { setVariableData, ...rest } = read(changeVariablesSchema, params);
    const changed = setVariableData.filter(isHarmless).map((each) => {
      const { attributeValue } = each;
      switch (nameOf(each)) {
        case 'sampleddatactrlr.txupdatedinterval':
          return { ...each, attributeValue: soonEnough(attributeValue, this.#parts.heartbeatMs) };
        case 'sampleddatactrlr.txupdatedmeasurands':
          return { ...each, attributeValue: enoughMeasurands(attributeValue) };
        default:
          return each;
      }
    });
    const passed = { kind: 'forward', params: { ...rest, setVariableData: changed } } as const;
    if (changed.length === setVariableData.length) return passed;
    if (changed.length === 0) return { kind: 'answered', answer: resultOf(setVariableData, {}) };
    return { ...passed, answerOf: (answer) => resultOf(setVariableData, answer) };
  }
}

/** The change ends neither leases nor reports. */
function isHarmless(each: ChangedVariable): boolean {
  const { attributeValue } = each;
  switch (nameOf(each)) {
    case 'smartchargingctrlr.enabled':
    case 'sampleddatactrlr.enabled':
      return attributeValue.toLowerCase() === 'true';
    case 'smartchargingctrlr.ignoredprofilepurposesoffline':
      return !ignoresOffline(attributeValue);
    default:
      return true;
  }
}

/**
 * The results in the order of the request: the charger's answers, and a
 * rejection for each change that was not forwarded.
 */
function resultOf(asked: readonly ChangedVariable[], answer: unknown): object {
  const { setVariableResult, ...rest } = changedVariablesSchema.parse(answer);
  const answers = [...setVariableResult];
  const results = asked.flatMap((each) => (isHarmless(each) ? answers.splice(0, 1) : [rejectedOf(each)]));
  return { ...rest, setVariableResult: [...results, ...answers] };
}

function rejectedOf({ attributeType, component, variable }: ChangedVariable) {
  const attribute = attributeType === undefined ? {} : { attributeType };
  return { ...attribute, attributeStatus: 'Rejected', component, variable };
}

/** Names ignore case. */
function nameOf({ component, variable }: ChangedVariable): string {
  return `${component.name}.${variable.name}`.toLowerCase();
}

/** @throws UnusableMessage */
function sentOf(profile: Profile201, evse: number): SentProfile {
  const [schedule] = profile.chargingSchedule;
  if (schedule === undefined) throw new UnusableMessage('it has no schedule');
  return { ...profile, evse, schedule };
}
