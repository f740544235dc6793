// Who may connect over MQTT and for which chargers it may speak; a change counts at once.
import type { CredentialSet, MqttLoginRecord } from '../../ports/credentials.js';
import type { MqttLogin, MqttLogins } from '../../ports/telemetry.js';
import { hashSecret, isSecret } from '../../secrets.js';
import { topicPrefixOf } from '../../wire/topics.js';

// Compared with when nobody has that name, so that an unknown name takes as long as a wrong password.
const NOBODY = hashSecret('');

interface Entry {
  readonly secretHash: string;
  readonly login: MqttLogin;
}

export interface ReplaceableMqttLogins extends MqttLogins {
  /** Takes the place of everything known before; a login that stayed the same stays current. */
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
    authenticate(username, password) {
      const entry = entries.get(username);
      const isRight = isSecret(password.toString(), entry?.secretHash ?? NOBODY);
      return isRight ? entry?.login : undefined;
    },
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
    const isSame =
      known !== undefined &&
      known.secretHash === record.secretHash &&
      known.login.prefixes.join() === login.prefixes.join();
    entries.set(login.username, isSame ? known : { secretHash: record.secretHash, login });
  }
  return entries;
}

function loginOf(record: MqttLoginRecord): MqttLogin {
  const { tenantUuid, clientId, controllers } = record;
  return {
    tenantUuid,
    clientId,
    username: `${tenantUuid}/${clientId}`,
    prefixes: controllers.map((controller) => topicPrefixOf({ tenantUuid, ...controller })).sort(),
  };
}
