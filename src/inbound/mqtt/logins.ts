// The MQTT logins with the topics that each may use. A change counts at once.
import type { CredentialSet, MqttLoginRecord } from '../../ports/credentials.js';
import type { MqttLogin, MqttLogins } from '../../ports/telemetry.js';
import { secretIdOf } from '../../secrets.js';
import { readPrefixesOf, siteTopicOf, topicPrefixOf } from '../../wire/topics.js';

interface Entry {
  readonly secretHash: string;
  readonly login: MqttLogin;
}

export interface ReplaceableMqttLogins extends MqttLogins {
  /** Replaces all logins; an unchanged login stays current. */
  replace(set: CredentialSet): void;
}

export function createMqttLogins(credentials: CredentialSet): ReplaceableMqttLogins {
  const listeners: (() => void)[] = [];
  let entries = indexOf(credentials, new Map());
  return {
    replace(set) {
      entries = indexOf(set, entries);
      for (const listener of listeners) listener();
    },
    find: (username) => entries.get(username),
    isCurrent: (login) => entries.get(login.username)?.login === login,
    onReplaced(listener) {
      listeners.push(listener);
    },
  };
}

function indexOf(set: CredentialSet, before: ReadonlyMap<string, Entry>): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const record of set.mqttLogins) {
    const login = loginOf(record);
    const known = before.get(login.username);
    const { secretHash } = record;
    // A new hash of the same password ends no session.
    const isSame =
      known !== undefined &&
      (known.secretHash === secretHash || secretIdOf(known.secretHash) === secretIdOf(secretHash)) &&
      known.login.prefixes.join() === login.prefixes.join() &&
      known.login.reads.join() === login.reads.join();
    entries.set(login.username, { secretHash, login: isSame ? known.login : login });
  }
  return entries;
}

function loginOf(record: MqttLoginRecord): MqttLogin {
  const { tenantUuid, clientId, controllers, operatorOf, siteMeterOf, readerOf } = record;
  const ofChargers = controllers.map((controller) => topicPrefixOf({ tenantUuid, ...controller }));
  const ofSite = [
    ...(operatorOf === undefined
      ? []
      : [siteTopicOf({ kind: 'operator', tenantUuid, locationId: operatorOf })]),
    ...(siteMeterOf === undefined
      ? []
      : [siteTopicOf({ kind: 'siteMeter', tenantUuid, locationId: siteMeterOf })]),
  ];
  return {
    tenantUuid,
    clientId,
    username: `${tenantUuid}/${clientId}`,
    prefixes: [...ofChargers, ...ofSite].sort(),
    reads: readerOf === undefined ? [] : readPrefixesOf({ tenantUuid, locationId: readerOf }),
  };
}
