// Logins over MQTT: names, passwords, and the topics of a login.
import { describe, expect, it } from 'vitest';
import type { LocationId } from '../../../machines/values/ids.js';
import { createMqttLogins } from '../../../src/inbound/mqtt/logins.js';
import { hashPassword, secretIdOf } from '../../../src/secrets.js';
import { CREDENTIALS, credentialsOf, HARBOUR, loginOf, STRANGER } from '../../outbound/mqtt/broker-rig.js';

const NAME = `${HARBOUR}/q1-a`;

describe('MQTT logins', () => {
  it('are tenant and charger with one password, for the topics of that charger', () => {
    expect(createMqttLogins(CREDENTIALS).find(NAME)).toEqual({
      secretHash: loginOf(HARBOUR, 'q1-a').secretHash,
      login: {
        tenantUuid: HARBOUR,
        clientId: 'q1-a',
        username: NAME,
        prefixes: [`ems/v1/${HARBOUR}/quay-1/q1-a`],
        reads: [],
      },
    });
  });

  it('of a reader publish nothing, and receive the state and the discovery of one location', () => {
    const readerOf = 'quay-1' as LocationId;
    const found = createMqttLogins(credentialsOf({ ...loginOf(HARBOUR, 'screen', []), readerOf }));
    expect(found.find(`${HARBOUR}/screen`)?.login).toMatchObject({
      prefixes: [],
      reads: [`ems/v1/${HARBOUR}/quay-1/site/live`, `homeassistant/device/headroom__${HARBOUR}__quay-1`],
    });
  });

  it('of a gateway speak for all of its chargers', () => {
    const found = createMqttLogins(CREDENTIALS).find(`${HARBOUR}/gateway-1`);
    expect(found?.login.prefixes).toEqual(
      ['g-1', 'g-2', 'g-3'].map((id) => `ems/v1/${HARBOUR}/quay-1/${id}`),
    );
  });

  it.each([
    ['without tenant', 'q1-a'],
    ['nobody has', `${STRANGER}/q1-b`],
    ['of an object property', 'constructor'],
  ])('are not found by a name %s', (_, username) => {
    expect(createMqttLogins(CREDENTIALS).find(username)).toBeUndefined();
  });

  it('stay current when read again unchanged, in any order', () => {
    const logins = createMqttLogins(credentialsOf(loginOf(HARBOUR, 'gateway-1', ['g-1', 'g-2'])));
    const login = logins.find(`${HARBOUR}/gateway-1`)?.login;
    logins.replace(credentialsOf(loginOf(HARBOUR, 'gateway-1', ['g-2', 'g-1'])));
    expect(login && logins.isCurrent(login)).toBe(true);
  });

  it('stay current when the same password is hashed anew, and are checked against the new hash', async () => {
    const logins = createMqttLogins(CREDENTIALS);
    const { login, secretHash = '' } = logins.find(NAME) ?? {};
    const anew = await hashPassword('password of q1-a', secretIdOf(secretHash));
    logins.replace(credentialsOf({ ...loginOf(HARBOUR, 'q1-a'), secretHash: anew }));
    expect(login && logins.isCurrent(login)).toBe(true);
    expect(logins.find(NAME)?.secretHash).toBe(anew);
  });

  it.each([
    ['they vanish', credentialsOf()],
    ['their password changes', credentialsOf({ ...loginOf(HARBOUR, 'q1-a'), secretHash: 'ff'.repeat(32) })],
    ['they speak for other chargers', credentialsOf(loginOf(HARBOUR, 'q1-a', ['q1-a', 'q1-b']))],
  ])('are no longer current when %s', (_, changed) => {
    const logins = createMqttLogins(CREDENTIALS);
    const login = logins.find(NAME)?.login;
    let calls = 0;
    logins.onReplaced(() => {
      calls++;
      expect(login && logins.isCurrent(login)).toBe(false);
    });
    logins.replace(changed);
    expect(calls).toBe(1);
  });
});
